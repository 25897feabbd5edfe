import { type InferResult, type Selectable, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { deleteInBatches } from '../../db/deletion.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { clientsSeenIn, NAMES } from '../audit/audit-trail.ts';
import { type AuditAction, eventTypeOf } from '../audit/event-types.ts';
import { enqueueDeliveries } from './enqueue-deliveries.ts';

/** Forces PostgreSQL to read entries by the index of their ids. */
export const BY_ID = sql`offset 0`;

export const eventRows = (em: Em, fence = sql``) =>
  kysely(em)
    .selectFrom('events')
    .innerJoinLateral(
      sql<
        Selectable<Database['audit_entries']>
      >`(select * from audit_entries where id = events.entry_id ${fence})`.as('audit_entries'),
      (join) => join.onTrue(),
    )
    .select(['events.id', 'occurred_at', 'audit_entries.action', ...NAMES, 'client_ids'])
    .select(['details', 'request_id', 'address'])
    .orderBy('events.id');

export type EventRow = InferResult<ReturnType<typeof eventRows>>[number];

/** The version of the shape of `data`. */
const VERSION = 1;

/** The content of an event for a reader; `row` was redacted for that reader. */
export const contentOf = (row: EventRow, reader: Actor) => ({
  id: row.id,
  type: eventTypeOf(row.action as AuditAction),
  version: VERSION,
  timestamp: row.occurred_at,
  subject: row.target_label,
  subject_type: row.target_type,
  subject_id: row.target_id,
  actor: row.actor_label,
  actor_type: row.actor_type,
  actor_id: row.actor_id,
  clients: clientsSeenIn(row, reader),
  data: row.details,
  request_id: row.request_id,
});

/** An arbitrary number that all instances share. */
const PUBLISH_LOCK = 7_305_130_510;

/** Bounds the time for which others wait for the lock after a change of many people that many webhooks receive. */
const BATCH = 500;

/**
 * Numbers the entries that were committed since the last call, in the order in which they were written, and enqueues them for webhooks. One
 * transaction at a time, so that no id becomes visible after a higher one. Without webhooks this is one statement, because it runs after
 * each change while there is a listener; entries that are committed while it waits for the lock are left to the next call.
 * @returns whether there may be more: with webhooks, a call publishes one batch
 */
export const publishEvents = async (em: Em): Promise<boolean> => {
  const { rows } = await sql<{ isHeard: boolean }>`
    with waiting as materialized (
      select exists (select from webhooks where is_active) as "isHeard"
      where exists (select from unpublished_events)),
    locked as materialized (select pg_advisory_xact_lock(${PUBLISH_LOCK}) from waiting where not "isHeard"),
    taken as (delete from unpublished_events where exists (select from locked) returning entry_id),
    published as (insert into events (entry_id) select entry_id from taken order by entry_id)
    select "isHeard" from waiting`.execute(kysely(em));
  return rows[0]?.isHeard === true && em.transactional(publishToWebhooks);
};

/** The lock is taken in a statement before, so that the second statement sees what the previous transaction has enqueued. */
const publishToWebhooks = async (tx: Em): Promise<boolean> => {
  await sql`select pg_advisory_xact_lock(${PUBLISH_LOCK})`.execute(kysely(tx));
  const { rows } = await sql<{ first: number | null; count: number }>`
    with taken as (
      delete from unpublished_events
      where entry_id in (select entry_id from unpublished_events order by entry_id limit ${BATCH}::int)
      returning entry_id),
    published as (insert into events (entry_id) select entry_id from taken order by entry_id returning id)
    select min(id)::float8 as first, count(*)::int as count from published`.execute(kysely(tx));
  const [published] = rows;
  if (published?.first == null) return false;
  await enqueueDeliveries(tx, sql`events.id >= ${published.first}::bigint`);
  return published.count === BATCH;
};

/** The id of the last event among the changes committed before the call. */
export const publishedUpTo = async (em: Em): Promise<number> => {
  await publishEvents(em);
  return newestEventId(em);
};

/** The id of the last event that has been published. */
export const newestEventId = async (em: Em): Promise<number> => {
  const newest = kysely(em).selectFrom('events').select('id').orderBy('id', 'desc').limit(1);
  return (await newest.executeTakeFirst())?.id ?? 0;
};

/** Publishes entries that were not read yet, and deletes events whose entries are no longer in the audit trail. */
export const maintainEvents = async (em: Em): Promise<void> => {
  while (await publishEvents(em));
  const oldest = sql`(select min(id) from audit_entries)`;
  await deleteInBatches(em, 'events', sql`entry_id < ${oldest}`);
  await deleteInBatches(em, 'event_clients', sql`event_id < (select min(id) from events)`);
};
