import { z } from 'zod';
import { AppView, appView } from './app-views.ts';
import { Name, NoInput, Text } from './schemas.ts';
import { administrator, router, signedIn } from './trpc.ts';

const Html = Text(100_000);
/** It is looked up, not judged: what has not the form of an id names no app. */
export const AppKey = Text(255);
const tags = ['Apps'];

export const appsRouter = router({
  list: signedIn
    .meta({ openapi: { method: 'GET', path: '/jb/apps/', tags } })
    .input(NoInput)
    .output(z.array(AppView))
    .query(async ({ ctx }) => (await ctx.services.apps.list(ctx.actor)).map(appView)),

  get: signedIn
    .meta({ openapi: { method: 'GET', path: '/jb/apps/{app_id}/', tags } })
    .input(z.object({ app_id: AppKey }))
    .output(AppView)
    .query(async ({ ctx, input }) => appView(await ctx.services.apps.get(ctx.actor, input.app_id))),

  update: administrator
    .meta({ openapi: { method: 'PATCH', path: '/jb/apps/{app_id}/', tags } })
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
      }),
    )
    .output(AppView)
    .mutation(async ({ ctx, input: { app_id: id, ...changes } }) =>
      appView(await ctx.services.apps.update(ctx.actor, id, changes)),
    ),
});
