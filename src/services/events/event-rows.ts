import { type InferResult, type Selectable, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { deleteInBatches } from '../pruning.ts';

/** Keeps PostgreSQL from reading entries by any index but that of their ids. */
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
    .select(['events.id', 'occurred_at', 'audit_entries.action', 'actor_email', 'target', 'client_ids'])
    .select(['details', 'request_id', 'address'])
    .orderBy('events.id');

export type EventRow = InferResult<ReturnType<typeof eventRows>>[number];

/** An arbitrary number that all instances share. */
const PUBLISH_LOCK = 7_305_130_510;

/**
 * Numbers the entries that were committed since the last call, in the order in which they were written. One transaction at a time, so that
 * no id becomes visible after a higher one. One statement, because it runs after each change while somebody listens: entries that are
 * committed while it waits for the lock are left to the next call.
 */
export const publishEvents = async (em: Em): Promise<void> => {
  await sql`
    with locked as materialized (
      select pg_advisory_xact_lock(${PUBLISH_LOCK}) where exists (select from unpublished_events)),
    taken as (delete from unpublished_events where exists (select from locked) returning entry_id)
    insert into events (entry_id) select entry_id from taken order by entry_id`.execute(kysely(em));
};

/** The id of the last event that has been published. */
export const newestEventId = async (em: Em): Promise<number> => {
  const newest = kysely(em).selectFrom('events').select('id').orderBy('id', 'desc').limit(1);
  return (await newest.executeTakeFirst())?.id ?? 0;
};

/** Publishes what no one has read yet, and deletes the events whose entries the audit trail no longer has. */
export const maintainEvents = async (em: Em): Promise<void> => {
  await publishEvents(em);
  const oldest = sql`(select min(id) from audit_entries)`;
  await deleteInBatches(em, 'events', sql`entry_id < ${oldest}`);
  await deleteInBatches(em, 'event_clients', sql`event_id < (select min(id) from events)`);
};
