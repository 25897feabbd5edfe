import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import {
  AccessViewChanges,
  AccessViewKey,
  AccessViewOutput,
  AccessViewUseOutput,
  accessViewEncoder,
  accessViewOutput,
  accessViewUrl,
  accessViewUseEncoder,
  accessViewUseOutput,
  FlagFilter,
  NewAccessView,
  toColumns,
  toSubject,
} from './schemas/access-views.ts';
import { EmailKey, Slug, Text } from './schemas/fields.ts';
import { pageNumberFields, pagingFields, toPageRequest } from './schemas/paging.ts';
import { listOf, streamFormat } from './schemas/streamed-items.ts';
import { adminProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Access views');
const ByKey = z.object({ key: AccessViewKey });
const path = '/access_views/';

export const accessViewsRouter = router({
  list: route(viewerProcedure, 'GET', path, {
    summary: 'List access views',
    description:
      'Of the apps that you manage, or for staff of all apps, newest first. `key` and `url` are empty for those who may not open the app with them. `?flags.{name}={value}` returns those whose `flags` have this value; several must all match. `cursor` is the id or key of the last access view of the previous page.',
    problems: ['not-found'],
    dotted: 'flags',
    legacy: true,
  })
    .input(
      z
        .object({
          app: Slug.optional(),
          user: EmailKey.optional(),
          flags: FlagFilter,
          ...pagingFields(AccessViewKey),
        })
        .prefault({}),
    )
    .output(listOf(AccessViewOutput))
    .query(async ({ ctx, input }) => {
      const { accessViews } = ctx.services;
      const format = streamFormat(ctx, input);
      if (format && input.cursor === undefined)
        return accessViews.stream(ctx.actor, input, accessViewEncoder(format, ctx.baseUrl));
      const views = await accessViews.list(ctx.actor, input, toPageRequest(ctx, input));
      return views.map((view) => accessViewOutput(view, ctx.baseUrl));
    }),

  get: route(viewerProcedure, 'GET', `${path}{key}/`, {
    summary: 'Get an access view',
    description:
      'By its id or current key. Without its key and URL for those who may not open the app with them, who find it only by its id.',
    volatileFields: ['usages_cnt'],
    legacy: true,
  })
    .input(ByKey)
    .output(AccessViewOutput)
    .query(async ({ ctx, input }) =>
      accessViewOutput(await ctx.services.accessViews.get(ctx.actor, input.key), ctx.baseUrl),
    ),

  create: route(adminProcedure, 'POST', path, {
    summary: 'Create an access view',
    description:
      'Its `url` opens the app without a login, as often as `allowed_uses_cnt` says (0: any number). With a `user`, who must be able to open the app, the app opens as them. `data_permissions` replace those of the user. Accepts JSON and forms.',
    problems: ['forbidden', 'reauthentication-required'],
    status: 201,
    forms: true,
    resource: 'accessViews.get',
    legacy: true,
  })
    .input(NewAccessView.prefault({}))
    .output(AccessViewOutput)
    .mutation(async ({ ctx, input }) => {
      const { accessViewChanges } = ctx.services;
      const view = await accessViewChanges.create(ctx.actor, toSubject(input), toColumns(input));
      return accessViewOutput(view, ctx.baseUrl);
    }),

  update: route(adminProcedure, 'PATCH', `${path}{key}/`, {
    summary: 'Update an access view',
    description:
      'Omitted fields stay unchanged. The app and the user cannot be changed. Accepts JSON and forms. Deactivating the view needs no recent password.',
    problems: ['forbidden', 'reauthentication-required'],
    forms: true,
    resource: 'accessViews.get',
    legacy: true,
  })
    .input(AccessViewChanges.extend({ key: AccessViewKey }))
    .output(AccessViewOutput)
    .mutation(async ({ ctx, input: { key, ...changes } }) => {
      const { accessViewChanges } = ctx.services;
      const view = await accessViewChanges.update(ctx.actor, key, toSubject(changes), toColumns(changes));
      return accessViewOutput(view, ctx.baseUrl);
    }),

  deactivate: route(adminProcedure, 'DELETE', `${path}{key}/`, {
    summary: 'Deactivate an access view',
    description: 'It opens the app no longer. Nothing is removed: an update can activate it again.',
    problems: ['forbidden'],
    status: 204,
    resource: 'accessViews.get',
    legacy: true,
  })
    .input(ByKey)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.accessViewChanges.deactivate(ctx.actor, input.key)),

  uses: route(viewerProcedure, 'GET', `${path}{key}/usage/`, {
    summary: 'List the uses of an access view',
    description: 'By its id or current key. Newest first, each with what applied at that time.',
    legacy: true,
  })
    .input(ByKey.extend(pageNumberFields))
    .output(listOf(AccessViewUseOutput))
    .query(async ({ ctx, input }) => {
      const { accessViews } = ctx.services;
      const format = streamFormat(ctx, input);
      if (format) return accessViews.streamUses(ctx.actor, input.key, accessViewUseEncoder(format));
      const uses = await accessViews.uses(ctx.actor, input.key, toPageRequest(ctx, input));
      return uses.map(accessViewUseOutput);
    }),

  /** Each call makes another view, so over tRPC it is a mutation. The replaced service has it as a GET. */
  embed: route(adminProcedure, 'GET', '/jb/apps/{app}/embed/{email}/', {
    summary: 'Get a URL that embeds an app once',
    description:
      'Of an app, by its id or slug, for a user who can open it. The URL works once, within 60 seconds; what it opens lasts for up to 12 hours. Each request makes another URL. Needs an API token: browser sessions are refused.',
    problems: ['forbidden'],
  })
    .input(z.object({ app: Text(255), email: EmailKey }))
    .output(z.object({ url: z.string() }))
    .mutation(async ({ ctx, input: { app, email } }) => {
      const key = await ctx.services.oneTimeViews.create(ctx.actor, app, email);
      return { url: accessViewUrl(key, ctx.baseUrl) };
    }),
});
