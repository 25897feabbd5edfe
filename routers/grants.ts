import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { AppKey, EmailKey, Expiry, Instant, Output, Text } from './schemas/fields.ts';
import { limitedPagingFields, toPageRequest } from './schemas/paging.ts';
import { adminProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Grants');

const GrantOutput = Output('Grant', {
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  /** Email address of the administrator, or of the inviter; null if it is not known. */
  granted_by: z.string().nullable(),
  granted_at: Instant.nullable(),
  /** When the grant ends; null if it does not. */
  expires_at: Instant.nullable(),
  reason: z.string(),
});

const Reason = Text(500);

const Grant = z.object({ app_id: AppKey, email: EmailKey });

const problems = ['not-found', 'forbidden', 'client-admin-locked', 'shared-user'] as const;

export const grantsRouter = router({
  list: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/grants/', {
    summary: 'List who was granted an app',
    description:
      'By email address. Admins of the client, staff and superusers open the app without a grant, and are not listed for it. `cursor` is the last address of the previous page.',
    problems: ['not-found', 'forbidden'],
  })
    .input(z.object({ app_id: AppKey, ...limitedPagingFields(EmailKey) }))
    .output(z.array(GrantOutput))
    .query(({ ctx, input }) => ctx.services.grants.list(ctx.actor, input.app_id, toPageRequest(ctx, input))),

  create: route(adminProcedure, 'POST', '/jb/apps/{app_id}/grants/', {
    summary: 'Grant an app to a user',
    description:
      'The user becomes a member of the client of the app. At `expires_at` the grant ends: the app does not open any more, and tickets do not outlive it.',
    problems: [...problems],
    status: 201,
    example: { email: 'ada@acme.test', expires_at: '2030-01-31T12:00:00Z', reason: 'Year-end closing' },
  })
    .input(Grant.extend({ expires_at: Expiry.default(null), reason: Reason.default('') }))
    .output(GrantOutput)
    .mutation(({ ctx, input: { app_id: appId, email, ...end } }) =>
      ctx.services.grants.create(ctx.actor, appId, email, end),
    ),

  update: route(adminProcedure, 'PATCH', '/jb/apps/{app_id}/grants/{email}/', {
    summary: 'Change the end of a grant',
    description: 'Omitted fields stay unchanged. `expires_at: null` removes the end.',
    problems: [...problems],
    example: { expires_at: '2030-02-28T12:00:00Z' },
  })
    .input(Grant.extend({ expires_at: Expiry.optional(), reason: Reason.optional() }))
    .output(GrantOutput)
    .mutation(({ ctx, input: { app_id: appId, email, ...changes } }) =>
      ctx.services.grants.update(ctx.actor, appId, email, changes),
    ),

  remove: route(adminProcedure, 'DELETE', '/jb/apps/{app_id}/grants/{email}/', {
    summary: 'Revoke a grant',
    problems: [...problems],
    status: 204,
  })
    .input(Grant)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.grants.remove(ctx.actor, input.app_id, input.email)),
});
