import { type InferResult, type Selectable, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { can, clientsWhere } from '../access/permissions.ts';
import { auditEntryVisibleTo, clientAuditVisibleTo } from '../access/visibility.ts';
import { redactFor } from '../audit/audit-trail.ts';
import { type AuditAction, actionsOf } from '../audit/event-types.ts';
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
  list: async (actor: Actor, filter: EventFilter): Promise<EventRow[]> => {
    await publishEvents(em);
    return (await visibleEvents(em, actor, filter).execute()).map((row) => redactFor(actor, row));
  },
});

/** The rows of `list`, not redacted. */
export const visibleEvents = (
  em: Em,
  actor: Actor,
  { types, client, from, cursor = 0, limit }: EventFilter,
) => {
  const actions = types && actionsOf(types);
  const clients = client === undefined ? clientsOfEvents(actor) : [client];
  let rows = (clients === 'all' ? eventRows(em) : eventRows(em, BY_ID))
    .where(auditEntryVisibleTo(actor))
    .where('events.id', '>', cursor)
    .limit(limit);
  if (client !== undefined)
    rows = rows
      .where(condition`client_ids && ${[client]}::int[]`)
      .where(clientAuditVisibleTo(actor, sql`${client}::int`));
  if (from !== undefined) rows = rows.where('occurred_at', '>=', from);
  if (clients !== 'all') return eventsOfClients(em, { clients, actions, cursor, limit }, rows);
  return actions ? rows.where(isAnyOf('audit_entries.action', actions, 'varchar')) : rows;
};

/** The clients of all events that the actor sees. */
const clientsOfEvents = (actor: Actor) =>
  can(actor, 'poll-events') ? 'all' : clientsWhere(actor, 'read-audit');

type Places = {
  clients: readonly number[];
  actions: readonly AuditAction[] | undefined;
  cursor: number;
  limit: number;
};

/**
 * The first of the rows that are of these clients, and of these actions, if any are given. Reads as many of each as there can be in the
 * result, so that a client without events, or with few of an action, does not cost reading those of all others.
 */
const eventsOfClients = (
  em: Em,
  { clients, actions, cursor, limit }: Places,
  rows: ReturnType<typeof eventRows>,
) => {
  const places = actions
    ? sql<{ client_id: number; action: string }>`
        (select * from unnest(${[...clients]}::int[]) client_id, unnest(${[...actions]}::varchar[]) action)`
    : sql<{ client_id: number }>`(select unnest(${[...clients]}::int[]) as client_id)`;
  const first = rows
    .innerJoin('event_clients as of', 'of.event_id', 'events.id')
    .where('of.event_id', '>', cursor)
    .where(condition`of.client_id = place.client_id`)
    .where(actions ? condition`of.action = place.action` : condition`true`);
  return (
    kysely(em)
      .selectFrom(places.as('place'))
      .innerJoinLateral(first.as('event'), (join) => join.onTrue())
      .selectAll('event')
      // An event may concern several of the clients.
      .distinctOn('event.id')
      .orderBy('event.id')
      .limit(limit)
  );
};

/** Keeps PostgreSQL from reading entries by any index but that of their ids. */
const BY_ID = sql`offset 0`;

const eventRows = (em: Em, fence = sql``) =>
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
  await deleteInBatches(em, 'event_clients', sql`event_id < (select min(id) from events)`);
};
