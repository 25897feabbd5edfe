import { z } from 'zod';
import { maintenanceNotice } from '../src/lib/message-html.ts';
import { canOperate } from '../src/services/access/actor.ts';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import {
  AppOutput,
  AppPermissionsOutput,
  AppStackOutput,
  AppStatusOutput,
  AppVersionInput,
  AppVersionOutput,
  appEncoder,
  appFilter,
  appOutput,
  MaintenancePreviewOutput,
  MessageOutput,
} from './schemas/apps.ts';
import { AppKey, LongIdKey, Name, Text } from './schemas/fields.ts';
import { limitedPagingFields, pagingFields, toPageRequest } from './schemas/paging.ts';
import { listOf, streamFormat } from './schemas/streamed-items.ts';
import { TicketOutput } from './tickets.ts';
import { adminProcedure, protectedProcedure, router, staffProcedure, viewerProcedure } from './trpc.ts';

const packageRoute = routesOf('App fetch and load');
const route = routesOf('Apps');

const Html = Text(100_000);

const ExpectedApp = AppOutput.pick({
  label: true,
  description: true,
  help_html: true,
  footer_html: true,
  show_help: true,
  show_footer: true,
  in_maintenance: true,
  maintenance_message: true,
}).partial();

/** Null, or an empty string, means none. */
const StackSlug = Text(255)
  .nullish()
  .transform((slug) => slug || null);

export const appsRouter = router({
  list: protectedProcedure
    .meta(route('GET', '/jb/apps/'))
    .input(z.object({ ...appFilter, ...pagingFields(AppKey) }).prefault({}))
    .output(listOf(AppOutput))
    .query(async ({ ctx, input }) => {
      const { apps } = ctx.services;
      const format = streamFormat(ctx, input);
      if (format) return apps.stream(ctx.actor, input, appEncoder(format));
      return (await apps.list(ctx.actor, input, toPageRequest(ctx, input))).map(appOutput);
    }),

  get: protectedProcedure
    .meta(route('GET', '/jb/apps/{app_id}/', { volatileFields: ['usage'] }))
    .input(z.object({ app_id: AppKey }))
    .output(AppOutput)
    .query(async ({ ctx, input }) => appOutput(await ctx.services.apps.get(ctx.actor, input.app_id))),

  /** For the platform, before it shows the app to a user. */
  status: protectedProcedure
    .meta(route('GET', '/jb/apps/{app_id}/status/', EXTENSION))
    .input(z.object({ app_id: AppKey }))
    .output(AppStatusOutput)
    .query(({ ctx, input }) => ctx.services.appDetails.getStatus(ctx.actor, input.app_id)),

  /** For screens, which offer nothing that the service would refuse. */
  permissions: protectedProcedure
    .meta(route('GET', '/jb/apps/{app_id}/permissions/', EXTENSION))
    .input(z.object({ app_id: AppKey }))
    .output(AppPermissionsOutput)
    .query(({ ctx, input }) => ctx.services.appDetails.getPermissions(ctx.actor, input.app_id)),

  stacks: protectedProcedure
    .meta(route('GET', '/jb/apps/{app_id}/stacks/', EXTENSION))
    .input(z.object({ app_id: AppKey, ...pagingFields(Text(255)) }))
    .output(z.array(AppStackOutput))
    .query(({ ctx, input }) =>
      ctx.services.appDetails.listStacks(ctx.actor, input.app_id, toPageRequest(ctx, input)),
    ),

  /** Last fetched first; `cursor` is the id of the last version of the previous page. */
  versions: viewerProcedure
    .meta(route('GET', '/jb/apps/{app_id}/versions/', EXTENSION))
    .input(z.object({ app_id: AppKey, ...limitedPagingFields(LongIdKey) }))
    .output(z.array(AppVersionOutput))
    .query(async ({ ctx, input }) => {
      const page = toPageRequest(ctx, input);
      const versions = await ctx.services.appDetails.listVersions(ctx.actor, input.app_id, page);
      return canOperate(ctx.actor) ? versions : versions.map((version) => ({ ...version, fetched_by: '' }));
    }),

  /** A ticket for the caller, for platforms that open the app on their own. */
  openTicket: protectedProcedure
    .meta(route('POST', '/jb/apps/{app_id}/ticket/', EXTENSION))
    .input(z.object({ app_id: AppKey, stack: StackSlug }))
    .output(TicketOutput)
    .mutation(({ ctx, input }) => ctx.services.launches.openTicket(ctx.actor, input.app_id, input.stack)),

  /** The address that opens the app for the caller, with a code that is valid for a minute. */
  launch: protectedProcedure
    .meta(route('POST', '/app/launch/{app_slug}/', EXTENSION))
    .input(z.object({ app_slug: Text(255), stack: StackSlug }))
    .output(z.object({ url: z.string() }))
    .mutation(async ({ ctx, input }) => ({
      url: await ctx.services.launches.launch(ctx.actor, input.app_slug, input.stack),
    })),

  /** The page that people would see during maintenance with this message. */
  previewMaintenance: adminProcedure
    .meta(route('POST', '/jb/apps/{app_id}/maintenance-preview/', EXTENSION))
    .input(z.object({ app_id: AppKey, maintenance_message: Html }))
    .output(MaintenancePreviewOutput)
    .mutation(async ({ ctx, input: { app_id: id, maintenance_message: message } }) => {
      const { label } = await ctx.services.apps.get(ctx.actor, id);
      const { title, body } = await maintenanceNotice(label, message);
      return { title, html: body.toString() };
    }),

  /** Rolls back to the given version, or else to the one loaded before the current one. */
  rollback: staffProcedure
    .meta(packageRoute('POST', '/app/rollback/{app_slug}/', EXTENSION))
    .input(AppVersionInput)
    .output(MessageOutput)
    .mutation(async ({ ctx, input }) => {
      const { app_slug: appSlug, app_version: appVersion } = input;
      const { slug, version } = await ctx.services.appPackages.rollback(ctx.actor, appSlug, appVersion);
      return { message: `Rolled back ${slug} to version ${version}` };
    }),

  update: adminProcedure
    .meta(route('PATCH', '/jb/apps/{app_id}/', { resource: 'apps.get' }))
    .input(
      z.object({
        app_id: AppKey,
        label: Name(255).optional(),
        description: Text(10_000).optional(),
        help_html: Html.optional(),
        footer_html: Html.optional(),
        show_help: z.boolean().optional(),
        show_footer: z.boolean().optional(),
        in_maintenance: z.boolean().optional(),
        maintenance_message: Html.optional(),
        expected: ExpectedApp.optional(),
      }),
    )
    .output(AppOutput)
    .mutation(async ({ ctx, input: { app_id: id, expected, ...changes } }) =>
      appOutput(await ctx.services.apps.update(ctx.actor, id, changes, expected)),
    ),

  /** For platforms, which read it in the audit trail. */
  clearCache: adminProcedure
    .meta(route('DELETE', '/jb/apps/{app_id}/clear_cache/', { status: 204, ...EXTENSION }))
    .input(z.object({ app_id: AppKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.apps.clearCache(ctx.actor, input.app_id)),
});

export const appPackagesRouter = router({
  fetch: staffProcedure
    .meta(packageRoute('POST', '/app/fetch/{app_slug}/', { handlesIdempotency: true }))
    .input(AppVersionInput)
    .output(MessageOutput)
    .mutation(async ({ ctx, input }) => {
      // The download may take longer than a request.
      ctx.timeLimit.lift();
      const { slug, version } = await ctx.services.appPackages.fetch(
        ctx.actor,
        input.app_slug,
        input.app_version,
        ctx.idempotencyKey(),
      );
      return { message: `Loaded ${slug} version ${version}` };
    }),

  load: staffProcedure
    .meta(packageRoute('POST', '/app/load/{app_slug}/', { status: 204 }))
    .input(AppVersionInput.pick({ app_slug: true }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.appPackages.load(ctx.actor, input.app_slug, ctx.host)),
});
