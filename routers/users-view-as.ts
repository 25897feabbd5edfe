import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { Name, NoInput } from './schemas/fields.ts';
import { AppKey, ByEmail, EmailKey, LongIdKey } from './schemas/keys.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { memberProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Users');

const MAX_MINUTES = 30;

/** A look at an app as another person. */
export const LookOutput = Output('Look', {
  id: z.int(),
  /** Email address and name of the person who looks. */
  actor: z.string(),
  actor_name: z.string(),
  /** Email address and name of the person as whom they look. */
  user: z.string(),
  user_name: z.string(),
  /** Id of the app. */
  app: z.string(),
  app_slug: z.string(),
  app_label: z.string(),
  client: z.int(),
  client_name: z.string(),
  reason: z.string(),
  begun_at: Instant,
  /** When it ends by the clock. */
  ends_at: Instant,
  /** Null while it runs. */
  ended_at: Instant.nullable(),
});

export const viewAsProcedures = {
  viewAs: route(viewerProcedure, 'POST', '/jb/users/{email}/view-as/', {
    summary: 'Look at an app as a user',
    description:
      'Read-only, for 1 to 30 `minutes`. The `url` opens the app once, in the browser session that sent this request, which was confirmed within 15 minutes; API tokens are refused. Only for client admins and superusers, as people who have no more rights and may open the app, and in apps whose package declares `view_as`. The user sees who looked, and why.',
    problems: [
      ...(['reauthentication-required', 'second-factor-required'] as const),
      ...(['view-as-unsupported', 'app-in-maintenance'] as const),
    ],
    status: 201,
    hasSecrets: true,
    example: { app: 'zylTKNVx', reason: 'Ticket 4711: the table is empty', minutes: 10 },
  })
    .input(
      z.object({ email: EmailKey, app: AppKey, reason: Name(500), minutes: z.int().min(1).max(MAX_MINUTES) }),
    )
    .output(Output('NewLook', { url: z.string(), id: z.int(), ends_at: Instant }))
    .mutation(({ ctx, input: { app: appId, ...look } }) =>
      ctx.services.looks.begin(ctx.actor, { ...look, appId }),
    ),

  listViewAs: route(memberProcedure, 'GET', '/jb/view-as/', {
    summary: 'List the running looks at apps as a user',
    description:
      'The looks that you can end: your own, looks as you, and looks in clients that you administer.',
  })
    .input(NoInput)
    .output(z.array(LookOutput))
    .query(({ ctx }) => ctx.services.looks.running(ctx.actor)),

  endViewAs: route(memberProcedure, 'DELETE', '/jb/view-as/{id}/', {
    summary: 'End a look at an app as a user',
    description:
      'By the person who looks, the user as whom they look, or an admin of the client. After its end, nothing changes.',
  })
    .input(z.object({ id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.looks.end(ctx.actor, input.id)),

  /** The apps at which the caller may look as the user. Has no REST path, so that it can change with the screen. */
  viewableApps: viewerProcedure
    .input(ByEmail)
    .output(z.array(z.object({ id: z.string(), slug: z.string(), label: z.string() })))
    .query(({ ctx, input }) => ctx.services.looks.appsFor(ctx.actor, input.email)),
};
