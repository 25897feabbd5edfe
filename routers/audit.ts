import { z } from 'zod';
import type { Actor } from '../src/services/access/actor.ts';
import { AUDIT_ACTIONS } from '../src/services/audit/actions.ts';
import type { AuditRow } from '../src/services/audit/audit-trail.ts';
import { AnyObject, EmailKey, Id, Instant, InstantKey, Limit, LongIdKey, Text } from './schemas/fields.ts';
import { pageNumberFields, toPageRequest } from './schemas/paging.ts';
import { adminProcedure, router } from './trpc.ts';

export const AuditView = z.object({
  id: z.int(),
  timestamp: Instant,
  action: z.string(),
  /** Empty when nobody was logged in, or the service acted by itself. */
  actor: z.string(),
  target: z.string(),
  clients: z.array(z.int()),
  details: AnyObject,
  request_id: z.string().nullable(),
  address: z.string().nullable(),
});

const auditView = (entry: AuditRow, { isSuperuser, adminOf }: Actor): z.input<typeof AuditView> => ({
  id: entry.id,
  timestamp: entry.occurred_at,
  action: entry.action,
  actor: entry.actor_email,
  target: entry.target,
  // What other clients it concerns is theirs to know.
  clients: isSuperuser ? entry.client_ids : entry.client_ids.filter((id) => adminOf.includes(id)),
  details: entry.details,
  request_id: entry.request_id,
  address: entry.address,
});

export const auditRouter = router({
  /** The newest first; `cursor` is the id of the last entry of the page before. */
  list: adminProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/audit/', tags: ['Audit'] }, rest: { extension: true } })
    .input(
      z
        .object({
          action: z.enum(AUDIT_ACTIONS).optional(),
          actor: EmailKey.optional(),
          target: Text(255).optional(),
          client: Id.optional(),
          from: InstantKey.optional(),
          to: InstantKey.optional(),
          ...pageNumberFields,
          cursor: LongIdKey.optional(),
          limit: Limit,
        })
        .prefault({}),
    )
    .output(z.array(AuditView))
    .query(async ({ ctx, input }) => {
      const entries = await ctx.services.auditTrail.list(ctx.actor, input, toPageRequest(ctx, input));
      return entries.map((entry) => auditView(entry, ctx.actor));
    }),
});
