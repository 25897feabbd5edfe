import { z } from 'zod';
import type { Actor } from '../src/services/access/actor.ts';
import { type AuditRow, seesAuditOf } from '../src/services/audit/audit-trail.ts';
import { AUDIT_ACTIONS } from '../src/services/audit/event-types.ts';
import { OperationKey } from './operations.ts';
import { routesOf } from './procedure-meta.ts';
import { AnyObject, EmailKey, Id, Instant, InstantKey, LongIdKey, Output, Text } from './schemas/fields.ts';
import { limitedPagingFields, toPageRequest } from './schemas/paging.ts';
import { allowedTo, router } from './trpc.ts';

const route = routesOf('Audit');

const AuditOutput = Output('AuditEntry', {
  id: z.int(),
  timestamp: Instant,
  action: z.string(),
  /** Empty if the caller was not logged in, or the service acted on its own. */
  actor: z.string(),
  target: z.string().meta({ examples: ['ada@acme.test'] }),
  clients: z.array(z.int()),
  details: AnyObject,
  request_id: z
    .string()
    .nullable()
    .meta({ examples: ['3d5c9a54-efb2-4018-b131-b5c402a96e39'] }),
  address: z.string().nullable(),
});

const auditOutput = (entry: AuditRow, actor: Actor): z.input<typeof AuditOutput> => ({
  ...entry,
  timestamp: entry.occurred_at,
  actor: entry.actor_email,
  // Client admins do not see which other clients are affected.
  clients: entry.client_ids.filter((id) => seesAuditOf(actor, id)),
});

/** `cursor` is the id of the last entry of the previous page. */
const AuditFilter = z
  .object({
    action: z.enum(AUDIT_ACTIONS).optional(),
    actor: EmailKey.optional(),
    target: Text(255).optional(),
    /** Entries about this person, and changes of groups that name them as a member. */
    person: EmailKey.optional(),
    client: Id.optional(),
    from: InstantKey.optional(),
    to: InstantKey.optional(),
    /** The id of a change of many users. */
    operation: OperationKey.optional(),
    ...limitedPagingFields(LongIdKey),
  })
  .prefault({});

export const auditRouter = router({
  list: route(allowedTo('read-audit', 'poll-events'), 'GET', '/jb/audit/', {
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
});
