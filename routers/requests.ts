import { z } from 'zod';
import { REQUEST_STATUSES } from '../src/services/users/access-requests.ts';
import { appIdentity } from './apps.ts';
import { routesOf } from './procedure-meta.ts';
import { Expiry, NoInput, OptionalInput, Reason } from './schemas/fields.ts';
import { AppKey, ById, EmailKey, Id, IdCursor } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { personIdentity } from './schemas/users.ts';
import { grantProcedure, memberProcedure, router } from './trpc.ts';

const route = routesOf('Access requests');

const AccessRequestOutput = Output('AccessRequest', {
  id: z.int(),
  /** To send with the decision, which fails if the request has changed since. */
  version: z.int(),
  ...personIdentity,
  /** Id of the app. */
  app: z.string(),
  app_label: z.string(),
  client: z.int(),
  client_name: z.string(),
  reason: z.string(),
  /** How long the person wants the app; null: without an end. */
  days: z.int().nullable(),
  /** `closed`: the request ended by itself, because the person got the app in another way or cannot get it any more. */
  status: z.enum(REQUEST_STATUSES),
  created_at: Instant,
  decided_at: Instant.nullable(),
  /** Email address of the user who ended the request. */
  decided_by: z.string().nullable(),
  decision_reason: z.string(),
  /** When the approved grant ends; null if it does not. */
  expires_at: Instant.nullable(),
  /** Whether the request is pending, and the caller may approve or deny it. */
  can_decide: z.boolean(),
});

const RequestableAppOutput = Output('RequestableApp', {
  ...appIdentity,
  client_name: z.string(),
  description: z.string(),
  /** Whether the caller has asked for it. */
  is_pending: z.boolean(),
});

const MAX_DAYS = 3_650;

const Decision = ById.extend({ version: Id, reason: Reason.default('') });

const decisionProblems = ['self-modification', 'request-decided'] as const;

export const requestsRouter = router({
  requestable: route(memberProcedure, 'GET', '/jb/requestable-apps/', {
    summary: 'List the apps that you can ask for',
    description:
      'Requestable apps of your clients that you cannot open. Empty for client admins, staff and superusers.',
  })
    .input(NoInput)
    .output(z.array(RequestableAppOutput))
    .query(({ ctx }) => ctx.services.accessRequests.requestable(ctx.actor)),

  list: route(memberProcedure, 'GET', '/jb/access-requests/', {
    summary: 'List requests for apps',
    description:
      'Your own requests; client admins also see the requests in their clients; staff and superusers see all. Newest first. `cursor` is the id of the last request of the previous page.',
  })
    .input(
      OptionalInput({
        status: z.enum([...REQUEST_STATUSES, 'all']).default('all'),
        client: Id.optional(),
        app: AppKey.optional(),
        email: EmailKey.optional(),
        ...limitedPagingFields(IdCursor),
      }),
    )
    .output(z.array(AccessRequestOutput))
    .query(({ ctx, input }) => ctx.services.accessRequests.list(ctx.actor, input, toPageRequest(ctx, input))),

  get: route(memberProcedure, 'GET', '/jb/access-requests/{id}/', { summary: 'Get a request for an app' })
    .input(ById)
    .output(AccessRequestOutput)
    .query(({ ctx, input }) => ctx.services.accessRequests.get(ctx.actor, input.id)),

  create: route(memberProcedure, 'POST', '/jb/access-requests/', {
    summary: 'Ask for an app',
    description:
      'Informs the admins of its client by email. If you have asked for the app before and it is not decided yet, this changes that request.',
    status: 201,
    example: { app: 'zylTKNVx', reason: 'Year-end closing', days: 14 },
  })
    .input(
      z.object({
        app: AppKey,
        reason: Reason.default(''),
        days: z.int().min(1).max(MAX_DAYS).nullable().default(null),
      }),
    )
    .output(AccessRequestOutput)
    .mutation(({ ctx, input }) => ctx.services.accessRequests.create(ctx.actor, input)),

  withdraw: route(memberProcedure, 'POST', '/jb/access-requests/{id}/withdraw/', {
    summary: 'Withdraw your request',
    problems: ['request-decided'],
  })
    .input(ById)
    .output(AccessRequestOutput)
    .mutation(({ ctx, input }) => ctx.services.accessRequests.withdraw(ctx.actor, input.id)),

  approve: route(grantProcedure, 'POST', '/jb/access-requests/{id}/approve/', {
    summary: 'Approve a request for an app',
    description:
      'Grants the app and informs the person by email. Without `expires_at`, the grant lasts as long as the person has asked for; null: without an end. No one decides their own requests.',
    problems: [...decisionProblems, 'client-admin-locked', 'shared-user'],
    example: { version: 1, expires_at: '2030-01-31T12:00:00Z', reason: 'Until the closing' },
  })
    .input(Decision.extend({ expires_at: Expiry.optional() }))
    .output(AccessRequestOutput)
    .mutation(({ ctx, input: { id, ...approval } }) =>
      ctx.services.accessRequests.approve(ctx.actor, id, approval),
    ),

  deny: route(grantProcedure, 'POST', '/jb/access-requests/{id}/deny/', {
    summary: 'Deny a request for an app',
    description: 'Informs the person by email, with the `reason`.',
    problems: decisionProblems,
    example: { version: 1, reason: 'Ask again next quarter' },
  })
    .input(Decision)
    .output(AccessRequestOutput)
    .mutation(({ ctx, input: { id, ...denial } }) => ctx.services.accessRequests.deny(ctx.actor, id, denial)),
});
