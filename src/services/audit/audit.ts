import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { textArray } from '../../db/binary-arrays.ts';
import { prepared } from '../../db/compiled-query.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AuditAction } from './actions.ts';

/** Where a unit of work comes from: null for what no request has caused. */
export type Origin = { requestId: string | null; address: string | null };

export const NO_ORIGIN: Origin = { requestId: null, address: null };

export type AuditEvent = {
  action: AuditAction;
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
export const createAudit = (origin: Origin, clock: Clock) => {
  const written = (events: readonly AuditEvent[]): Written => ({
    ...origin,
    now: clock.now(),
    actions: textArray(
      'varchar',
      events.map(({ action }) => action),
    ),
    actors: textArray(
      'varchar',
      events.map(({ actor }) => actor?.email ?? ''),
    ),
    targets: textArray(
      'varchar',
      events.map(({ target }) => target),
    ),
    clients: textArray(
      'text',
      events.map(({ clients = [] }) => `{${clients.join(',')}}`),
    ),
    details: textArray(
      'json',
      events.map(({ details = {} }) => JSON.stringify(details)),
    ),
  });

  return {
    /** One statement, however many events. */
    record: async (tx: SqlEntityManager, events: readonly AuditEvent[]): Promise<void> => {
      if (events.length > 0) await WRITE(tx, written(events));
    },

    /** The same, to be sent along with other statements: one, or none where there is nothing to tell. */
    statements: (em: SqlEntityManager, events: readonly AuditEvent[]) =>
      events.length > 0 ? [WRITE.bound(em, written(events))] : [],
  };
};

/** Arrays, one element for each event, as PostgreSQL reads them in binary form. */
type Written = Origin & { now: Date } & Record<
    'actions' | 'actors' | 'targets' | 'clients' | 'details',
    Buffer
  >;

const WRITE = prepared((db, to: Written) => ({
  compile: () =>
    sql`
      insert into audit_entries
        (occurred_at, request_id, address, action, actor_email, target, client_ids, details)
      select ${to.now}::timestamptz, ${to.requestId}::varchar, ${to.address}::varchar,
        action, actor_email, target, client_ids::int[], details
      from unnest(${to.actions}::varchar[], ${to.actors}::varchar[], ${to.targets}::varchar[], ${to.clients}::text[],
        ${to.details}::json[]) as event (action, actor_email, target, client_ids, details)`.compile(db),
}));
