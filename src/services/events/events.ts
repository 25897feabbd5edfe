import { sql } from 'kysely';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { can, clientsWhere } from '../access/permissions.ts';
import { auditEntrySeenBy, auditEntryVisibleTo, clientAuditVisibleTo } from '../access/visibility.ts';
import { redactFor, seesAuditOf } from '../audit/audit-trail.ts';
import { type AuditAction, actionsOf } from '../audit/event-types.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { HeardEvent } from './event-hub.ts';
import { BY_ID, type EventRow, eventRows, publishEvents, publishedUpTo } from './event-rows.ts';

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

type Deps = Pick<UnitOfWork, 'em' | 'eventHub'>;

type StreamFilter = Omit<EventFilter, 'from' | 'limit'>;

/** The caller of a stream. `confirm` looks them up again while it runs. */
type Caller = { actor: Actor; confirm: () => Promise<Actor>; signal: AbortSignal | undefined };

/** The audit trail as events for others to follow, oldest first. */
export const createEvents = ({ em, eventHub }: Deps) => ({
  /** The events after the cursor that the actor may see. A change that was committed before the call is in this list or in a later one. */
  list: async (actor: Actor, filter: EventFilter): Promise<EventRow[]> => {
    await publishEvents(em);
    return (await visibleEvents(em, actor, filter).execute()).map((row) => redactFor(actor, row));
  },

  /** The cursor after which only events of later changes follow. */
  position: (): Promise<number> => publishedUpTo(em),

  /**
   * The same events, as they happen. Without a cursor, from now on.
   * @throws Problem `throttled`
   */
  follow: (filter: StreamFilter, { actor: caller, confirm, signal }: Caller): AsyncGenerator<HeardEvent> => {
    const { client } = filter;
    const actions = filter.types && new Set<string>(actionsOf(filter.types));
    const isWanted = ({ action, client_ids }: EventRow): boolean =>
      (actions?.has(action) ?? true) && (client === undefined || client_ids.includes(client));
    return eventHub.follow({
      userId: caller.id,
      confirm,
      signal,
      cursor: filter.cursor,
      seenBy: (actor) => {
        if (client !== undefined && !seesAuditOf(actor, client)) return () => false;
        const isSeen = auditEntrySeenBy(actor);
        return (row) => isWanted(row) && isSeen(row);
      },
      list: (actor, cursor, limit) => visibleEvents(em, actor, { ...filter, cursor, limit }).execute(),
    });
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
 * The first rows of these clients and, if given, of these actions. Reads up to `limit` rows for each client and action, so that it does not
 * scan the events of others for a client with few events, or for a rare action.
 */
const eventsOfClients = (
  em: Em,
  { clients, actions, cursor, limit }: Places,
  rows: ReturnType<typeof eventRows>,
) => {
  // Without actions, one place per client, whose action is not used.
  const places = sql<{ client_id: number }>`
    (select * from unnest(${[...clients]}::int[]) client_id, unnest(${actions ?? ['any']}::varchar[]) action)`;
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
