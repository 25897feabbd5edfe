import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { textArray } from '../../db/binary-arrays.ts';
import { prepared } from '../../db/compiled-query.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AuditAction } from './actions.ts';

/** The request that caused a change; null for changes by the service or the command line. */
export type Origin = { requestId: string | null; address: string | null };

export const NO_ORIGIN: Origin = { requestId: null, address: null };

export type AuditEvent = {
  action: AuditAction;
  /** Null for anonymous callers and for the service. */
  actor: { email: string } | null;
  /** Email address, slug or domain of the changed resource. */
  target: string;
  /** The clients whose admins may read the entry. */
  clients?: readonly number[];
  /** What changed. Names and numbers only, never a password, token or link, nor a value derived from one. */
  details?: Record<string, unknown>;
};

export type Audit = ReturnType<typeof createAudit>;

/** Writes the audit trail. Entries are written in the same transaction as the change that they record. */
export const createAudit = (origin: Origin, clock: Clock) => {
  const toRows = (events: readonly AuditEvent[]): EntryColumns => ({
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
    /** Writes all events in one statement. */
    record: async (tx: SqlEntityManager, events: readonly AuditEvent[]): Promise<void> => {
      if (events.length > 0) await WRITE(tx, toRows(events));
    },
  };
};

/** One binary PostgreSQL array per column, with one element per event. */
type EntryColumns = Origin & { now: Date } & Record<
    'actions' | 'actors' | 'targets' | 'clients' | 'details',
    Buffer
  >;

const WRITE = prepared((db, to: EntryColumns) => ({
  compile: () =>
    sql`
      insert into audit_entries
        (occurred_at, request_id, address, action, actor_email, target, client_ids, details)
      select ${to.now}::timestamptz, ${to.requestId}::varchar, ${to.address}::varchar,
        action, actor_email, target, client_ids::int[], details
      from unnest(${to.actions}::varchar[], ${to.actors}::varchar[], ${to.targets}::varchar[], ${to.clients}::text[],
        ${to.details}::json[]) as event (action, actor_email, target, client_ids, details)`.compile(db),
}));
