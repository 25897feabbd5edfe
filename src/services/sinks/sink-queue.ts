import { sql } from 'kysely';
import type { EventSink } from '../../adapters/event-sinks/event-sink.ts';
import { type Condition, condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errno.ts';
import type { Logger } from '../../lib/logger.ts';
import { serviceActor } from '../access/actor.ts';
import { redactFor } from '../audit/audit-trail.ts';
import { contentOf, newestEventId, publishEvents } from '../events/event-rows.ts';
import { visibleEvents } from '../events/events.ts';
import { backoffOf, createQueueWorker, throttle, type WorkerOptions } from '../outbox/queue-worker.ts';

/** Longer than a delivery plus clock differences: a batch that is being sent must not be claimed again. */
const LEASE_MS = MINUTE_MS;
/** Wait after the first failure. */
const BACKOFF_MS = 1_000;
/** The time within which a server that has recovered is noticed. */
const MAX_BACKOFF_MS = MINUTE_MS;

/** Events per batch; half as many after each failure, because the receiver may refuse large batches. */
const BATCH = 1_000;
/** The size of their data in bytes, unless the first event alone is larger. */
const BATCH_BYTES = 512 * 1024;

const MAX_ERROR_LENGTH = 500;

/** Minimum time between two updates of `served_at`. */
const SERVED_MS = HOUR_MS;
/** If no instance has had a sink configured for so long, the sink was removed: events are not kept for it. */
const REMOVED_MS = DAY_MS;

export type SinkName = EventSink['name'];

type Deps = {
  /** Forked for each operation. */
  em: Em;
  clock: Clock;
  /** Where a new sink without a position begins. */
  startsAt: 'oldest' | 'newest';
  leaseMs?: number | undefined;
  backoffMs?: number | undefined;
};

/** The events after a position of a sink. */
export type ClaimedBatch = {
  name: SinkName;
  /** The end of the lease. */
  next_attempt_at: Date;
  attempts: number;
  failing_since: Date | null;
  position: number;
  events: ReturnType<typeof contentOf>[];
};

export type SinkQueue = ReturnType<typeof createSinkQueue>;

/** Sinks receive what `events.list` shows to superusers. */
const READER = serviceActor(null);

/** The positions of sinks, for any number of workers in any number of instances: one worker at a time sends to a sink. */
export const createSinkQueue = (deps: Deps) => {
  const { em, clock, startsAt, leaseMs = LEASE_MS, backoffMs = BACKOFF_MS } = deps;

  /** Creates the missing positions, and updates `served_at`. */
  const register = async (names: readonly SinkName[], now: Date): Promise<void> => {
    const db = kysely(em.fork());
    const known = await db
      .selectFrom('event_sinks')
      .select('name')
      .where(isNamed(names))
      .where('served_at', '>', new Date(now.getTime() - SERVED_MS))
      .execute();
    const unknown = names.filter((name) => !known.some((row) => row.name === name));
    if (unknown.length === 0) return;
    const position = startsAt === 'oldest' ? 0 : await newestEventId(em.fork());
    await db
      .insertInto('event_sinks')
      .values(unknown.map((name) => ({ name, position, next_attempt_at: now, served_at: now })))
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ served_at: now }))
      .execute();
  };

  return {
    /** Claims a batch for each of these sinks that is due. `found` also counts sinks whose events no longer exist. */
    claim: async (names: readonly SinkName[]) => {
      if (names.length === 0) return { claimed: [], found: 0 };
      await publishEvents(em.fork());
      await register(names, clock.now());
      return em.fork().transactional(async (tx) => {
        const now = clock.now();
        const next_attempt_at = new Date(now.getTime() + leaseMs);
        const due = await lockDue(tx, names, now);
        const claimed: ClaimedBatch[] = [];
        for (const sink of due) {
          const newest = await newestEventId(tx);
          const events = await readBatch(tx, sink);
          const attempts = sink.attempts + 1;
          if (events.length > 0) claimed.push({ ...sink, attempts, next_attempt_at, events });
          await kysely(tx)
            .updateTable('event_sinks')
            // No entries: the audit trail has deleted all events after the position, so skip to the newest.
            .set(events.length > 0 ? { attempts, next_attempt_at } : { position: newest })
            .where('name', '=', sink.name)
            .execute();
        }
        return { claimed, found: due.length };
      });
    },

    /** Moves the position, or schedules the next attempt. @param failure why the batch may not have been received; null if it was */
    record: async (batch: ClaimedBatch, failure: string | null): Promise<void> => {
      const now = clock.now();
      const changes =
        failure === null
          ? {
              position: batch.events.at(-1)?.id ?? batch.position,
              attempts: 0,
              next_attempt_at: now,
              failing_since: null,
              last_error: null,
            }
          : {
              next_attempt_at: new Date(now.getTime() + backoffOf(batch.attempts, backoffMs, MAX_BACKOFF_MS)),
              failing_since: batch.failing_since ?? now,
              last_error: failure.slice(0, MAX_ERROR_LENGTH).toWellFormed(),
            };
      let update = isOf(em.fork(), batch).set(changes);
      // If another worker has claimed the batch since, only a success counts.
      if (failure !== null) update = update.where('attempts', '=', batch.attempts);
      await update.execute();
    },

    /** Releases batches that were claimed but not sent. */
    release: async (batches: readonly ClaimedBatch[]): Promise<void> => {
      for (const batch of batches)
        await isOf(em.fork(), batch)
          .set({ attempts: batch.attempts - 1, next_attempt_at: clock.now() })
          .where('attempts', '=', batch.attempts)
          .execute();
    },

    /** Milliseconds until one of these sinks can be claimed; null if none has events to receive. */
    msUntilDue: async (names: readonly SinkName[]): Promise<number | null> => {
      const { due } = await kysely(em.fork())
        .selectFrom('event_sinks as s')
        .select(({ fn }) => fn.min('s.next_attempt_at').as('due'))
        .where(isNamed(names))
        .where(HAS_EVENTS)
        .executeTakeFirstOrThrow();
      return due ? due.getTime() - clock.now().getTime() : null;
    },
  };
};

const isNamed = (names: readonly SinkName[]): Condition => isAnyOf('name', names, 'varchar');

/** SQL over `s`. */
const HAS_EVENTS = condition`exists (select from events where id > s.position)`;

/** False if the position was set by hand meanwhile. */
const isOf = (em: Em, { name, position }: ClaimedBatch) =>
  kysely(em).updateTable('event_sinks').where('name', '=', name).where('position', '=', position);

const lockDue = (tx: Em, names: readonly SinkName[], now: Date) =>
  kysely(tx)
    .selectFrom('event_sinks as s')
    .select(['name', 'position', 'attempts', 'failing_since'])
    .where(isNamed(names))
    .where('next_attempt_at', '<=', now)
    .where(HAS_EVENTS)
    .orderBy('name')
    .forNoKeyUpdate()
    .skipLocked()
    .$narrowType<{ name: SinkName }>() // one of `names`
    .execute();

const readBatch = async (tx: Em, { position, attempts }: { position: number; attempts: number }) => {
  const limit = Math.max(1, Math.floor(BATCH / 2 ** attempts));
  const rows = visibleEvents(tx, READER, { cursor: position, limit });
  const size = sql`octet_length(details::text)`;
  const sized = kysely(tx)
    .selectFrom(rows.as('event'))
    .selectAll()
    .select(sql<number>`sum(${size}) over (order by id) - ${size}`.as('bytes_before'));
  const batch = await kysely(tx)
    .selectFrom(sized.as('event'))
    .selectAll()
    .where('bytes_before', '<', BATCH_BYTES)
    .orderBy('id')
    .execute();
  return batch.map((row) => contentOf(redactFor(READER, row), READER));
};

/** SQL: sinks that an instance has configured recently, or that `names` lists. */
const isServed = (now: Date, names: readonly SinkName[] = []) =>
  condition`(${isNamed(names)} or served_at > ${new Date(now.getTime() - REMOVED_MS)}::timestamptz)`;

/** Whether an entry of the audit trail has an event that a sink has yet to receive. @param names the sinks of this instance */
export const isAwaitedBySinks = (now: Date, names: readonly SinkName[]): Condition => condition`(
  exists (select from unpublished_events u where u.entry_id = audit_entries.id and exists (
    select from event_sinks where ${isServed(now, names)}))
  or exists (select from events e where e.entry_id = audit_entries.id and e.id > (
    select min(position) from event_sinks where ${isServed(now, names)})))`;

/** Limit of counting. */
const MAX_COUNTED = 100_000;

/** How far sinks are behind. */
export const readSinkLags = async (em: Em, now: Date) => {
  const { rows } = await sql<{
    name: string;
    eventsBehind: number;
    oldest: Date | null;
    failingSince: Date | null;
    lastError: string | null;
  }>`
    select name, failing_since as "failingSince", last_error as "lastError",
      (select count(*)::int from (select from events where id > s.position limit ${MAX_COUNTED}::int) e)
        as "eventsBehind",
      (select occurred_at from events e join audit_entries a on a.id = e.entry_id where e.id > s.position
        order by e.id limit 1) as oldest
    from event_sinks s where ${isServed(now)} order by name`.execute(kysely(em));
  return rows.map(({ oldest, ...row }) => ({
    ...row,
    secondsBehind: oldest ? Math.max(0, now.getTime() - oldest.getTime()) / 1000 : 0,
  }));
};

/** Shorter than the lease. */
const LIMIT_MS = 40_000;

type WorkerDeps = WorkerOptions & {
  queue: SinkQueue;
  sinks: readonly EventSink[];
  logger: Pick<Logger, 'info' | 'warn'>;
};

/** Sends the events of the installation to sinks, batch by batch. Each batch must be received before the next one is sent. */
export const createSinkWorker = (deps: WorkerDeps) => {
  const { queue, sinks, listen, logger } = deps;
  const closing = new AbortController();
  const byName = new Map(sinks.map((sink) => [sink.name, sink]));
  /** A write to a disk that hangs lasts longer than its lease. */
  const busy = new Set<SinkName>();
  const idle = (): SinkName[] => [...byName.keys()].filter((name) => !busy.has(name));

  /** Null: all events were received. */
  const attempt = async ({ name, events }: ClaimedBatch): Promise<string | null> => {
    const limit = AbortSignal.timeout(LIMIT_MS);
    try {
      await byName.get(name)?.write(events, AbortSignal.any([limit, closing.signal]));
      return null;
    } catch (error) {
      return limit.aborted ? 'there was no answer in time' : reasonOf(error);
    }
  };

  /** Logged once per outage. */
  const log = ({ name: sink, failing_since }: ClaimedBatch, reason: string | null): void => {
    if (reason !== null && !failing_since) logger.warn({ sink, reason }, 'a sink takes no events; retrying');
    if (reason === null && failing_since) logger.info({ sink }, 'the sink takes events again');
  };

  return createQueueWorker(
    {
      name: 'sink',
      maxInFlight: sinks.length,
      claim: () => queue.claim(idle()),
      release: queue.release,
      msUntilDue: () => queue.msUntilDue(idle()),
      deliver: async (batch, store) => {
        busy.add(batch.name);
        try {
          const failure = await attempt(batch);
          if (failure !== null && closing.signal.aborted) return await store(() => queue.release([batch]));
          log(batch, failure);
          await store(() => queue.record(batch, failure));
        } finally {
          busy.delete(batch.name);
        }
      },
      close: () => closing.abort(),
    },
    { ...deps, listen: (onHeard) => listen(throttle(onHeard)) },
  );
};
