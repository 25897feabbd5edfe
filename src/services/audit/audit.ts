import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { Clock } from '../../core/clock.ts';
import { tables } from '../tables.ts';

/** Where a unit of work comes from: null for what no request has caused. */
export type Origin = { requestId: string | null; address: string | null };

export const NO_ORIGIN: Origin = { requestId: null, address: null };

export type AuditEvent = {
  /** `{noun}.{verb}`: `user.update`. */
  action: string;
  /** Null when nobody was logged in, or the service acted by itself. */
  actor: { email: string } | null;
  /** Email address, slug or domain of what was acted upon. */
  target: string;
  /** The clients whose admins may read of it. */
  clients?: readonly number[];
  /** What changed. Names and numbers only: never a password, a token, a link or anything made from one. */
  details?: Record<string, unknown>;
};

export type Audit = ReturnType<typeof createAudit>;

/** Writes the audit trail. Each entry stands in the transaction of what it tells: neither exists without the other. */
export const createAudit = (origin: Origin, clock: Clock) => ({
  /** One statement, however many events. */
  record: async (tx: SqlEntityManager, events: readonly AuditEvent[]): Promise<void> => {
    if (events.length === 0) return;
    await sql`
      insert into audit_entries
        (occurred_at, request_id, address, action, actor_email, target, client_ids, details)
      select ${clock.now()}::timestamptz, ${origin.requestId}::varchar, ${origin.address}::varchar,
        action, actor_email, target, client_ids::int[], details
      from unnest(
        ${events.map(({ action }) => action)}::varchar[],
        ${events.map(({ actor }) => actor?.email ?? '')}::varchar[],
        ${events.map(({ target }) => target)}::varchar[],
        ${events.map(({ clients = [] }) => `{${clients.join(',')}}`)}::text[],
        ${events.map(({ details = {} }) => JSON.stringify(details))}::json[])
        as event (action, actor_email, target, client_ids, details)`.execute(tables(tx));
  },
});
