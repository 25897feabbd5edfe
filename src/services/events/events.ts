import { type InferResult, sql } from 'kysely';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { auditEntryVisibleTo, clientAuditVisibleTo } from '../access/visibility.ts';
import { redactFor } from '../audit/audit-trail.ts';
import { actionsOf } from '../audit/event-types.ts';
import { deleteInBatches } from '../pruning.ts';

export type EventFilter = {
  /** Types of events. Default: all. */
  types?: readonly string[] | undefined;
  client?: number | undefined;
  /** Events of changes since this time. */
  from?: Date | undefined;
  /** The id of the last event that was read. */
  cursor?: number | undefined;
  limit: number;
};

/** What has happened, for others to follow: the audit trail, oldest first. */
export const createEvents = ({ em }: { em: Em }) => ({
  /** The events that the actor may see after the cursor. All that was committed before the call is among them, or comes later. */
  list: async (
    actor: Actor,
    { types, client, from, cursor = 0, limit }: EventFilter,
  ): Promise<EventRow[]> => {
    await publishEvents(em);
    let rows = eventRows(em).where(auditEntryVisibleTo(actor)).where('events.id', '>', cursor);
    if (types !== undefined) rows = rows.where(isAnyOf('action', actionsOf(types), 'varchar'));
    if (client !== undefined)
      rows = rows
        .where(condition`client_ids && ${[client]}::int[]`)
        .where(clientAuditVisibleTo(actor, sql`${client}::int`));
    if (from !== undefined) rows = rows.where('occurred_at', '>=', from);
    return (await rows.limit(limit).execute()).map((row) => redactFor(actor, row));
  },
});

const eventRows = (em: Em) =>
  kysely(em)
    .selectFrom('events')
    .innerJoin('audit_entries', 'audit_entries.id', 'events.entry_id')
    .select(['events.id', 'occurred_at', 'action', 'actor_email', 'target', 'client_ids'])
    .select(['details', 'request_id', 'address'])
    .orderBy('events.id');

export type EventRow = InferResult<ReturnType<typeof eventRows>>[number];

/** An arbitrary number that all instances share. */
const PUBLISH_LOCK = 7_305_130_510;

/**
 * Numbers the entries that were committed since the last call, in the order in which they were written. One transaction at a time, so that
 * no id becomes visible after a higher one.
 */
export const publishEvents = async (em: Em): Promise<void> => {
  const waiting = await sql<{ isWaiting: boolean }>`
    select exists (select from unpublished_events) as "isWaiting"`.execute(kysely(em));
  if (!waiting.rows[0]?.isWaiting) return;
  await em.transactional(async (tx) => {
    await sql`select pg_advisory_xact_lock(${PUBLISH_LOCK})`.execute(kysely(tx));
    await sql`
      with taken as (delete from unpublished_events returning entry_id)
      insert into events (entry_id) select entry_id from taken order by entry_id`.execute(kysely(tx));
  });
};

/** Publishes what no one has read yet, and deletes the events whose entries the audit trail no longer has. */
export const maintainEvents = async (em: Em): Promise<void> => {
  await publishEvents(em);
  const oldest = sql`(select min(id) from audit_entries)`;
  await deleteInBatches(em, 'events', sql`entry_id < ${oldest}`);
};
