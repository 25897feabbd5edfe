import { z } from 'zod';
import { RowProblemOutput } from './operations.ts';
import { routesOf } from './procedure-meta.ts';
import { Expiry, Extra, InstantKey, OptionalInput, Reason, Text } from './schemas/fields.ts';
import { AppKey, distinct, EmailKey, Id } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { personIdentity } from './schemas/users.ts';
import { grantProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Grants');

const MAX_APP_ROLES = 50;

const GrantOutput = Output('Grant', {
  ...personIdentity,
  /** Email address of the administrator, or of the inviter; null if it is not known. */
  granted_by: z.string().nullable(),
  granted_at: Instant.nullable(),
  /** When the grant ends; null if it does not. */
  expires_at: Instant.nullable(),
  reason: z.string(),
  /** Data permissions in this app alone; null: none. */
  attributes: AnyObject.nullable(),
  /** Keys of roles that the app declares. */
  app_roles: z.array(z.string()),
});

/** What a grant gives in the app. */
const given = {
  attributes: Extra.nullable().optional(),
  app_roles: distinct(Text(64), MAX_APP_ROLES).optional(),
};

const EndingGrantOutput = Output('EndingGrant', {
  app_id: z.string(),
  app_label: z.string(),
  client: z.int(),
  ...personIdentity,
  expires_at: Instant,
  reason: z.string(),
});

const MAX_EXTENDED = 200;

const Grant = z.object({ app_id: AppKey, email: EmailKey });

const problems = ['client-admin-locked', 'shared-user'] as const;

export const grantsRouter = router({
  list: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/grants/', {
    summary: 'List who was granted an app',
    description:
      'By email address. Admins of the client, staff and superusers open the app without a grant, and are not listed for it. `cursor` is the last address of the previous page.',
  })
    .input(z.object({ app_id: AppKey, ...limitedPagingFields(EmailKey) }))
    .output(z.array(GrantOutput))
    .query(({ ctx, input }) => ctx.services.grants.list(ctx.actor, input.app_id, toPageRequest(ctx, input))),

  listEnding: route(viewerProcedure, 'GET', '/jb/grants/', {
    summary: 'List grants that end soon',
    description:
      'Of active people in a client, or in all that you can see, the first to end first: up to `limit` grants that end before `ends_before`, by default within 14 days. Without apps that a role or a group also gives.',
  })
    .input(
      OptionalInput({
        client: Id.optional(),
        ends_before: InstantKey.optional(),
        limit: z.int().min(1).max(MAX_EXTENDED).default(50),
      }),
    )
    .output(z.array(EndingGrantOutput))
    .query(({ ctx, input }) => ctx.services.grants.listEnding(ctx.actor, input)),

  extend: route(grantProcedure, 'POST', '/jb/grants/extend/', {
    summary: 'Change the end of many grants',
    description:
      'Each in a separate transaction, by the rules of the request for one; `results` has one entry for each. `expires_at: null` removes the ends.',
    example: { grants: [{ app_id: 'zylTKNVx', email: 'ada@acme.test' }], expires_at: '2030-02-28T12:00:00Z' },
  })
    .input(z.object({ grants: z.array(Grant).min(1).max(MAX_EXTENDED), expires_at: Expiry }))
    .output(
      Output('ExtendedGrants', {
        results: z.array(
          Output('GrantsExtendRow', {
            app_id: z.string(),
            email: z.string(),
            status: z.enum(['ok', 'failed']),
            problem: RowProblemOutput.nullable(),
          }),
        ),
      }),
    )
    .mutation(async ({ ctx, input }) => {
      ctx.timeLimit.lift();
      return { results: await ctx.services.grants.extend(ctx.actor, input.grants, input.expires_at) };
    }),

  create: route(grantProcedure, 'POST', '/jb/apps/{app_id}/grants/', {
    summary: 'Grant an app to a user',
    description:
      'The user becomes a member of the client of the app. At `expires_at` the grant ends: the app does not open any more, and tickets do not outlive it. `attributes` are data permissions in this app, `app_roles` its roles, as its package declares them.',
    problems,
    status: 201,
    example: { email: 'ada@acme.test', expires_at: '2030-01-31T12:00:00Z', reason: 'Year-end closing' },
  })
    .input(Grant.extend({ expires_at: Expiry.default(null), reason: Reason.default(''), ...given }))
    .output(GrantOutput)
    .mutation(({ ctx, input: { app_id: appId, email, ...end } }) =>
      ctx.services.grants.create(ctx.actor, appId, email, end),
    ),

  update: route(grantProcedure, 'PATCH', '/jb/apps/{app_id}/grants/{email}/', {
    summary: 'Change a grant',
    description: 'Omitted fields stay unchanged. `expires_at: null` removes the end.',
    problems,
    example: { expires_at: '2030-02-28T12:00:00Z' },
  })
    .input(Grant.extend({ expires_at: Expiry.optional(), reason: Reason.optional(), ...given }))
    .output(GrantOutput)
    .mutation(({ ctx, input: { app_id: appId, email, ...changes } }) =>
      ctx.services.grants.update(ctx.actor, appId, email, changes),
    ),

  remove: route(grantProcedure, 'DELETE', '/jb/apps/{app_id}/grants/{email}/', {
    summary: 'Revoke a grant',
    problems,
  })
    .input(Grant)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.grants.remove(ctx.actor, input.app_id, input.email)),
});
