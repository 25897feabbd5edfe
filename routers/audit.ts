import { z } from 'zod';
import type { Actor } from '../src/services/access/actor.ts';
import {
  ACCOUNT_KINDS,
  AUDIT_KINDS,
  clientsSeenIn,
  type ListedEntry,
  type ListedOperation,
} from '../src/services/audit/audit-trail.ts';
import { AUDIT_ACTIONS } from '../src/services/audit/event-types.ts';

import { OperationKey } from './operations.ts';
import { routesOf } from './procedure-meta.ts';
import { InstantKey, OptionalInput, Text } from './schemas/fields.ts';
import { EmailKey, Id, LongIdKey } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { allowedTo, router } from './trpc.ts';

export const READERS = ['read-audit', 'poll-events'] as const;

export const ActorType = z.enum(['user', 'service']).nullable();

const AuditOutput = Output('AuditEntry', {
  id: z.int(),
  timestamp: Instant,
  action: z.string(),
  /** Empty if the caller was not logged in, or if the service acted on its own. */
  actor: z.string(),
  actor_type: ActorType,
  actor_id: z.int().nullable(),
  target: z.string().meta({ examples: ['ada@acme.test'] }),
  /** `user`, `app`, `client` … */
  target_type: z.string().nullable(),
  /** Null for an address without an account, for example. */
  target_id: z.string().nullable(),
  clients: z.array(z.int()),
  details: AnyObject,
  /** The present addresses of the people whom `details` names by id. Only people whom the caller may see. */
  people: z.array(z.object({ id: z.int(), email: z.string() })),
  request_id: z.nullable(z.string()).meta({ examples: ['3d5c9a54-efb2-4018-b131-b5c402a96e39'] }),
  address: z.string().nullable(),
});

const auditOutput = (entry: ListedEntry, actor: Actor): z.input<typeof AuditOutput> => ({
  ...entry,
  timestamp: entry.occurred_at,
  actor: entry.actor_label,
  target: entry.target_label,
  clients: clientsSeenIn(entry, actor),
});

const OperationOutput = Output('AuditOperation', {
  ...AuditOutput.shape,
  /** The actor, the target and the people in `details`, as far as the caller may see them. */
  people: z.array(
    z.object({ id: z.int(), email: z.string(), name: z.string(), kind: z.enum(ACCOUNT_KINDS) }),
  ),
  /** What the entries of the operation have in common; null if there is only this one. */
  summary: z
    .object({
      /** 1001 if there are more than 1000. */
      count: z.int(),
      /** How many people or things they changed. */
      targets: z.int(),
      target_types: z.array(z.string()),
      /** How many of the targets are people. */
      people: z.int(),
      /** The person, if there is only one, with the address at that time. */
      person: z.object({ id: z.int().nullable(), email: z.string() }).nullable(),
      actions: z.array(z.string()),
      /** Whether all of them have the same action and details. */
      is_same: z.boolean(),
      /** The `action` of `POST /jb/users/bulk/`; null for other operations. */
      change: z
        .string()
        .nullable()
        .meta({ examples: ['offboard'] }),
    })
    .nullable(),
});

const operationOutput = (row: ListedOperation, actor: Actor): z.input<typeof OperationOutput> => ({
  ...auditOutput(row, actor),
  people: row.people,
  summary: row.summary,
});

const conditions = {
  action: z.enum(AUDIT_ACTIONS).optional(),
  /** Several actions, separated by commas. */
  actions: z
    .string()
    .transform((actions) => actions.split(','))
    .pipe(z.array(z.enum(AUDIT_ACTIONS)).max(AUDIT_ACTIONS.length))
    .optional(),
  /** `logins`: logins, failed ones, and refused requests. `changes`: everything else. */
  kind: z.enum(AUDIT_KINDS).optional(),
  actor: EmailKey.optional(),
  target: Text(255).optional(),
  /** Entries about this person, including changes of groups that name the person as a member. */
  person: EmailKey.optional(),
  client: Id.optional(),
  from: InstantKey.optional(),
  to: InstantKey.optional(),
  /** The id of an operation: a change of many users. */
  operation: OperationKey.optional(),
};

/** `cursor` is the id of the last entry of the previous page. */
const paging = limitedPagingFields(LongIdKey);

const AuditFilter = OptionalInput({ ...conditions, ...paging });

/** Without page numbers: these would count all operations, each of which is looked up among all entries. */
const OperationFilter = OptionalInput({
  ...conditions,
  cursor: paging.cursor,
  limit: paging.limit,
  entry: LongIdKey.optional(),
});

const route = routesOf('Audit');

export const auditRouter = router({
  list: route(allowedTo('client', ...READERS), 'GET', '/jb/audit/', {
    summary: 'List audit entries',
    description:
      'Who changed what, newest first. `cursor` is the id of the last entry of the previous page. Staff get only entries with the action `app.clear-cache`.',
  })
    .input(AuditFilter)
    .output(z.array(AuditOutput))
    .query(async ({ ctx, input }) => {
      const entries = await ctx.services.auditTrail.list(ctx.actor, input, toPageRequest(ctx, input));
      return entries.map((entry) => auditOutput(entry, ctx.actor));
    }),

  listOperations: route(allowedTo('client', ...READERS), 'GET', '/jb/audit/operations/', {
    summary: 'List operations of the audit trail',
    description:
      'The audit trail with one row for each operation, such as a change of many users or what one request changed: its newest entry that the filter selects, and a summary. With `entry`, the entries of the operation to which this entry belongs. `cursor` is the id of the last entry of the previous page.',
  })
    .input(OperationFilter)
    .output(z.array(OperationOutput))
    .query(async ({ ctx, input: { entry, ...filter } }) => {
      const { auditTrail } = ctx.services;
      const page = toPageRequest(ctx, filter);
      const rows =
        entry === undefined
          ? await auditTrail.listOperations(ctx.actor, filter, page)
          : await auditTrail.listOperation(ctx.actor, entry, filter, page);
      return rows.map((row) => operationOutput(row, ctx.actor));
    }),
});
