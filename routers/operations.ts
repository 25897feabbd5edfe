import { z } from 'zod';
import { invalid } from '../src/lib/problems.ts';
import { AttributeKey } from '../src/services/attributes/attribute-schema.ts';
import {
  BULK_ACTIONS,
  type BulkRequest,
  type BulkResult,
  MAX_BULK_USERS,
} from '../src/services/operations/bulk-update.ts';
import { UNDONE_KINDS } from '../src/services/operations/operations.ts';
import { routesOf } from './procedure-meta.ts';
import { Expiry, FreeValue, Reason } from './schemas/fields.ts';
import { AppIds, EmailKey, Id } from './schemas/keys.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { appUserBodyConditions, userBodyConditions } from './schemas/users.ts';
import { accessProcedure, router } from './trpc.ts';

/** Why a row of a bulk request was not changed. */
export const RowProblemOutput = Output('RowProblem', { code: z.string(), detail: z.string() });

const MAX_BULK_GROUPS = 20;

const OperationId = z.guid('Must be the id of an operation.');

const BulkFilter = z.object({ ...appUserBodyConditions, client: Id.optional(), ...userBodyConditions });

/**
 * Selects users by address or by filter, and states one change for them. `cursor` and `operation` continue an earlier request with a
 * filter.
 */
export const BulkInput = z.object({
  emails: z.array(EmailKey).min(1).max(MAX_BULK_USERS).optional(),
  filter: BulkFilter.optional(),
  action: z.enum(BULK_ACTIONS),
  /** Required by `grant-apps` and `revoke-apps`. */
  apps: AppIds.default([]),
  /** Required by `add-to-groups`: ids of groups. */
  groups: z.array(Id).max(MAX_BULK_GROUPS).default([]),
  /** With `grant-apps`: when the new grants end. */
  expires_at: Expiry.optional(),
  /** With `grant-apps`: the reason, shown next to the grants. */
  reason: Reason.optional(),
  /** Required by `set-attribute`. `deactivate`, `reactivate` and `offboard` change only the membership in this client. */
  client: Id.optional(),
  /** Required by `set-attribute`: which attribute of the data permissions gets `value`; without a value, it is removed. */
  attribute: AttributeKey.optional(),
  value: FreeValue,
  operation: OperationId.optional(),
  cursor: EmailKey.optional(),
});

type BulkAction = BulkRequest['change']['action'];

/** By field: the actions that require it, and others that accept it. */
const FIELDS_OF_ACTIONS: {
  field: 'apps' | 'groups' | 'expires_at' | 'reason' | 'client' | 'attribute';
  requiredBy: readonly BulkAction[];
  acceptedBy: readonly BulkAction[];
}[] = [
  { field: 'apps', requiredBy: ['grant-apps', 'revoke-apps'], acceptedBy: [] },
  { field: 'groups', requiredBy: ['add-to-groups'], acceptedBy: [] },
  { field: 'expires_at', requiredBy: [], acceptedBy: ['grant-apps'] },
  { field: 'reason', requiredBy: [], acceptedBy: ['grant-apps'] },
  { field: 'client', requiredBy: ['set-attribute'], acceptedBy: ['deactivate', 'reactivate', 'offboard'] },
  { field: 'attribute', requiredBy: ['set-attribute'], acceptedBy: [] },
];

/** @throws Problem `invalid-input` */
const requireSupported = (action: BulkAction, input: z.output<typeof BulkInput>) => {
  for (const { field, requiredBy, acceptedBy } of FIELDS_OF_ACTIONS) {
    const value = input[field];
    const isGiven = Array.isArray(value) ? value.length > 0 : Boolean(value);
    const isRequired = requiredBy.includes(action);
    if (isGiven && !isRequired && !acceptedBy.includes(action))
      throw invalid({ [field]: [`Not supported by ${action}.`] });
    if (isRequired && !isGiven) throw invalid({ [field]: ['This field is required.'] });
  }
};

/** @throws Problem `invalid-input` */
export const toBulkRequest = (input: z.output<typeof BulkInput>): BulkRequest => {
  const { emails, filter, action, apps, groups, expires_at: expiresAt, reason, operation, cursor } = input;
  const { client, attribute, value } = input;
  requireSupported(action, input);
  const change = {
    action,
    apps,
    ...(groups.length > 0 && { groups }),
    ...(expiresAt && { expires_at: expiresAt.toISOString() }),
    ...(reason && { reason }),
    ...(client !== undefined && { client }),
    ...(attribute !== undefined && { attribute, value }),
  };
  if (emails && filter) throw invalid({ filter: ['Cannot be combined with emails.'] });
  if (emails && cursor !== undefined) throw invalid({ cursor: ['Requires a filter.'] });
  if (emails) return { selection: { emails }, change, operation };
  if (!filter) throw invalid({ emails: ['Either emails or filter is required.'] });
  return { selection: { filter, cursor }, change, operation };
};

export const BulkResultOutput = Output('BulkResult', {
  /** By this id, the request can be undone or continued. In the audit trail: `operation` of the details. */
  operation: z.string(),
  /** Null if the change cannot be undone. */
  undo_until: Instant.nullable(),
  results: z.array(
    Output('BulkRow', {
      email: z.string(),
      status: z.enum(['ok', 'unchanged', 'failed']),
      problem: RowProblemOutput.nullable(),
    }),
  ),
  /** Null after the last user of a filter, and for a list of addresses. */
  next_cursor: z.string().nullable(),
});

export const InvitationsBulkResultOutput = Output('InvitationsBulkResult', {
  results: z.array(
    Output('InvitationsBulkRow', {
      id: z.int(),
      status: z.enum(['ok', 'failed']),
      problem: RowProblemOutput.nullable(),
    }),
  ),
});

export const bulkResultOutput = (result: BulkResult): z.input<typeof BulkResultOutput> => ({
  ...result,
  undo_until: result.undo_until === null ? null : new Date(result.undo_until),
});

/** An operation in a path. Any text is accepted: an invalid id is not found. */
const NIL = '00000000-0000-0000-0000-000000000000';
export const OperationKey = z
  .string()
  .meta({ examples: ['0199c1b2-8e5f-7d1a-9c3e-2f4a6b8c0d1e'] })
  .transform((id) => (z.guid().safeParse(id).success ? id.toLowerCase() : NIL));

const UndoOutput = Output('Undo', {
  operation: z.string(),
  /** The number of reverted grants, revocations, activations and groups, of all requests so far. */
  reverted: z.int(),
  skipped: z.array(
    Output('SkippedChange', {
      email: z.string(),
      /** `app_id` is null if the part concerns no app, `group_id` if it concerns no group, such as the activation of the user. */
      app_id: z.string().nullable(),
      group_id: z.int().nullable(),
      kind: z.enum(UNDONE_KINDS),
      problem: RowProblemOutput,
    }),
  ),
  /** False if users are left: send the request again. Its response includes this one. */
  is_finished: z.boolean(),
});

const route = routesOf('Users');

export const operationsRouter = router({
  undo: route(accessProcedure, 'POST', '/jb/operations/{id}/undo/', {
    summary: 'Undo a change of many users',
    description:
      'Your own bulk update or change of the access matrix, within ten minutes. Reverts changes that are still in place; `skipped` lists the others. Each request reverts the changes of up to 1,000 users and reports the total of all requests so far: repeat it until `is_finished` is true, or if it was interrupted. Reactivated users must log in again.',
    problems: ['undo-expired'],
    handlesIdempotency: true,
  })
    .input(z.object({ id: OperationKey }))
    .output(UndoOutput)
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.lift();
      return ctx.services.operations.undo(ctx.actor, input.id, ctx.idempotencyKey());
    }),
});
