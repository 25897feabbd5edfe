import { z } from 'zod';
import { EXTENSION, routesOf } from './procedure-meta.ts';
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
  /** Newest first. `cursor` is the id or key of the last view of the previous page. */
  list: viewerProcedure
    .meta(route('GET', path, { dotted: 'flags' }))
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

  get: viewerProcedure
    .meta(route('GET', `${path}{key}/`, { volatileFields: ['usages_cnt'] }))
    .input(ByKey)
    .output(AccessViewOutput)
    .query(async ({ ctx, input }) =>
      accessViewOutput(await ctx.services.accessViews.get(ctx.actor, input.key), ctx.baseUrl),
    ),

  create: adminProcedure
    .meta(route('POST', path, { status: 201, forms: true, resource: 'accessViews.get' }))
    .input(NewAccessView.prefault({}))
    .output(AccessViewOutput)
    .mutation(async ({ ctx, input }) => {
      const { accessViewChanges } = ctx.services;
      const view = await accessViewChanges.create(ctx.actor, toSubject(input), toColumns(input));
      return accessViewOutput(view, ctx.baseUrl);
    }),

  update: adminProcedure
    .meta(route('PATCH', `${path}{key}/`, { forms: true, resource: 'accessViews.get' }))
    .input(AccessViewChanges.extend({ key: AccessViewKey }))
    .output(AccessViewOutput)
    .mutation(async ({ ctx, input: { key, ...changes } }) => {
      const { accessViewChanges } = ctx.services;
      const view = await accessViewChanges.update(ctx.actor, key, toSubject(changes), toColumns(changes));
      return accessViewOutput(view, ctx.baseUrl);
    }),

  /** Nothing is removed: the view can be activated again. */
  deactivate: adminProcedure
    .meta(route('DELETE', `${path}{key}/`, { status: 204, resource: 'accessViews.get' }))
    .input(ByKey)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.accessViewChanges.deactivate(ctx.actor, input.key)),

  /** Newest first. */
  uses: viewerProcedure
    .meta(route('GET', `${path}{key}/usage/`))
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
  embed: adminProcedure
    .meta(route('GET', '/jb/apps/{app}/embed/{email}/', EXTENSION))
    .input(z.object({ app: Text(255), email: EmailKey }))
    .output(z.object({ url: z.string() }))
    .mutation(async ({ ctx, input: { app, email } }) => {
      const key = await ctx.services.oneTimeViews.create(ctx.actor, app, email);
      return { url: accessViewUrl(key, ctx.baseUrl) };
    }),
});
