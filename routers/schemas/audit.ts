import { z } from 'zod';
import type { Actor } from '../../src/services/access/actor.ts';
import { AUDIT_ACTIONS } from '../../src/services/audit/audit.ts';
import type { AuditRow } from '../../src/services/audit/audit-trail.ts';
import { AnyObject, EmailKey, Id, Instant, InstantKey, Limit, LongIdKey, Text } from './fields.ts';
import { pageNumberFields } from './paging.ts';

export const AuditView = z.object({
  id: z.int(),
  timestamp: Instant,
  action: z.string(),
  /** Empty if the caller was not logged in, or the service acted on its own. */
  actor: z.string(),
  target: z.string(),
  clients: z.array(z.int()),
  details: AnyObject,
  request_id: z.string().nullable(),
  address: z.string().nullable(),
});

export const auditView = (entry: AuditRow, { isSuperuser, adminOf }: Actor): z.input<typeof AuditView> => ({
  id: entry.id,
  timestamp: entry.occurred_at,
  action: entry.action,
  actor: entry.actor_email,
  target: entry.target,
  // Client admins do not see which other clients are affected.
  clients: isSuperuser ? entry.client_ids : entry.client_ids.filter((id) => adminOf.includes(id)),
  details: entry.details,
  request_id: entry.request_id,
  address: entry.address,
});

/** `cursor` is the id of the last entry of the previous page. */
export const AuditFilter = z
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
  .prefault({});
