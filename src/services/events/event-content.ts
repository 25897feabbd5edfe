import type { Actor } from '../access/actor.ts';
import { seesAuditOf } from '../audit/audit-trail.ts';
import { type AuditAction, eventTypeOf } from '../audit/event-types.ts';
import type { EventRow } from './event-rows.ts';

/** That of the shape of `data`. */
const VERSION = 1;

/** What a reader hears of an event, which was redacted for them. */
export const contentOf = (row: EventRow, reader: Actor) => ({
  id: row.id,
  type: eventTypeOf(row.action as AuditAction),
  version: VERSION,
  timestamp: row.occurred_at,
  subject: row.target,
  actor: row.actor_email,
  clients: row.client_ids.filter((id) => seesAuditOf(reader, id)),
  data: row.details,
  request_id: row.request_id,
});
