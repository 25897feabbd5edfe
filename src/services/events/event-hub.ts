import { setTimeout as pause } from 'node:timers/promises';
import type { Em } from '../../db/kysely.ts';
import type { Notifications } from '../../db/pg-listener.ts';
import type { Logger } from '../../lib/logger.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { canAllOf } from '../access/permissions.ts';
import { redactFor } from '../audit/audit-trail.ts';
import { type EventRow, eventRows, newestEventId, publishEvents, publishedUpTo } from './event-rows.ts';

/** Events within this time are published together: 200 changes a second take 12 transactions instead of 200. */
const THROTTLE_MS = 80;
/** Interval at which, without notifications, roles are read again, and events without a notification are looked for. */
const RECHECK_MS = 2_000;
/** Interval of polling while notifications are unavailable. */
const UNNOTIFIED_POLL_MS = 500;
const RETRY_MS = 1_000;
/** How long the connection stays open without a listener: most listeners reconnect at once. */
const IDLE_MS = 10_000;
const BATCH = 1_000;
const PAGE = 100;
/** Limit in this process. Each stream costs memory, and reads the roles of its user. */
const MAX_STREAMS_OF_USER = 100;
/** Limit of events that wait for a slow listener. Beyond it, the listener reads from the database at its own speed. */
const MAX_WAITING = 1_000;

/** An event, and the actor whose roles determine its visible fields. */
export type HeardEvent = { row: EventRow; actor: Actor };

type Shown = { rows: EventRow[]; actor: Actor };

type Listening = {
  userId: number;
  /** Looks up the caller again. @throws Problem if they may not listen any more */
  confirm: () => Promise<Actor>;
  /** Whether an actor gets an event: decides in memory what `list` decides in the database. */
  seenBy: (actor: Actor) => (row: EventRow) => boolean;
  list: (actor: Actor, cursor: number, limit: number) => Promise<EventRow[]>;
  /** The id of the last event that was read. Default: the id of the newest event. */
  cursor: number | undefined;
  signal: AbortSignal | undefined;
};

type Listener = Pick<Listening, 'userId' | 'confirm' | 'seenBy'> & {
  /** As of the last check; null before the first. */
  actor: Actor | null;
  sees: (row: EventRow) => boolean;
  /** Null while the listener is behind, and reads pages of the list. */
  waiting: EventRow[] | null;
  /** Why the stream ends. */
  end: { cause: unknown } | null;
  wake: () => void;
};

type Deps = {
  fork: () => Em;
  /** Starts to listen for new entries of the audit trail. */
  listen: (onHeard: () => void) => Notifications;
  logger: Pick<Logger, 'warn'>;
};

export type EventHub = ReturnType<typeof createEventHub>;

/**
 * Passes new events to the listeners of this process. While there are listeners, it publishes committed entries, reads them once, and
 * decides in memory who sees them. The roles of a listener are read again before each delivery. A listener is behind if it continues at an
 * earlier event, is slow, or has new roles: it then reads the list from its last event on, until it has caught up.
 */
export const createEventHub = ({ fork, listen, logger }: Deps) => {
  const em = fork();
  const listeners = new Set<Listener>();
  const closing = new AbortController();
  /** The id of the last event that was passed on; null until it is known. */
  let position: number | null = null;
  let reading: Promise<void> | null = null;
  let wakeUp = new AbortController();

  /** Returns whether more events may wait. */
  const readNew = async (): Promise<boolean> => {
    const isMore = await publishEvents(em);
    if (position === null) {
      position = await newestEventId(em);
      // They join after listing once more.
      for (const { wake } of listeners) wake();
    }
    for (let isFull = true; isFull; ) {
      const rows = await eventRows(em).where('events.id', '>', position).limit(BATCH).execute();
      // Set before the listeners are chosen: listeners that join later list these events.
      position = rows.at(-1)?.id ?? position;
      await deliver(listeners, rows);
      isFull = rows.length === BATCH;
    }
    return isMore;
  };

  const readUntilIdle = async (): Promise<void> => {
    const notifications = listen(() => wakeUp.abort());
    let [checkedAt, heardAt, isFailing] = [performance.now(), performance.now(), false];
    const readOnce = async (): Promise<number> => {
      try {
        while ((await readNew()) && !closing.signal.aborted);
        isFailing = false;
      } catch (err) {
        if (!isFailing) logger.warn({ err }, 'new events cannot be read; retrying');
        isFailing = true;
        return RETRY_MS;
      }
      if (performance.now() - checkedAt >= RECHECK_MS) {
        await Promise.all([...listeners].map(check));
        checkedAt = performance.now();
      }
      const recheckMs = Math.max(0, checkedAt + RECHECK_MS - performance.now());
      return notifications.isListening() ? recheckMs : Math.min(UNNOTIFIED_POLL_MS, recheckMs);
    };
    while (!closing.signal.aborted && performance.now() - heardAt < IDLE_MS) {
      wakeUp = new AbortController();
      const waitMs = await readOnce();
      await sleep(THROTTLE_MS, closing.signal);
      await sleep(waitMs, wakeUp.signal);
      if (listeners.size > 0) heardAt = performance.now();
    }
    position = null;
    await notifications.close();
  };

  const startReading = (): void => {
    if (closing.signal.aborted) return;
    reading ??= readUntilIdle().finally(() => {
      reading = null;
      if (listeners.size > 0) startReading();
    });
  };

  /** Joins before it lists, so that events which are passed on meanwhile wait. */
  const catchUp = async (listener: Listener, list: Listening['list'], cursor: number): Promise<Shown> => {
    const actor = await listener.confirm();
    setActor(listener, actor);
    if (position !== null) listener.waiting = [];
    const rows = await list(actor, cursor, PAGE);
    if (rows.length === PAGE) listener.waiting = null;
    return { rows, actor };
  };

  async function* read(listener: Listener, list: Listening['list'], from: number | undefined) {
    try {
      let cursor: number = from ?? (await publishedUpTo(em));
      while (!listener.end) {
        const changed = Promise.withResolvers<void>();
        listener.wake = changed.resolve;
        const { actor, waiting } = listener;
        const next: Shown =
          actor && waiting ? { rows: waiting, actor } : await catchUp(listener, list, cursor);
        const isAll = next.rows.length < PAGE;
        for (let row = next.rows.shift(); row; row = next.rows.shift()) {
          // If the listener's roles have changed since the row was read, they may not allow to see it.
          if (listener.end || listener.actor !== next.actor) break;
          if (row.id <= cursor) continue;
          cursor = row.id;
          yield { row: redactFor(next.actor, row), actor: next.actor };
        }
        const isWaiting = listener.waiting ? listener.waiting.length === 0 : isAll && position === null;
        if (isWaiting && !listener.end) await changed.promise;
      }
      if (listener.end.cause !== null) throw listener.end.cause;
    } finally {
      listeners.delete(listener);
    }
  }

  const requireRoom = (userId: number): void => {
    const count = [...listeners].filter((listener) => listener.userId === userId).length;
    if (count >= MAX_STREAMS_OF_USER) throw new Problem('throttled', TOO_MANY);
  };

  return {
    /**
     * The events of a listener after its cursor, until its signal is aborted. The listener joins at once, so that streams that are opened
     * together are counted.
     * @throws Problem `throttled` if the user has too many streams. The generator throws the problem of `confirm`, or an AbortError on
     * `close`.
     */
    follow: ({ list, cursor, signal, ...listening }: Listening): AsyncGenerator<HeardEvent> => {
      requireRoom(listening.userId);
      const listener: Listener = {
        ...listening,
        actor: null,
        sees: () => false,
        waiting: null,
        end: null,
        wake: () => {},
      };
      const leave = () => {
        endListener(listener, null);
        // Also needed if no event was ever requested.
        listeners.delete(listener);
      };
      listeners.add(listener);
      signal?.addEventListener('abort', leave, { once: true });
      if (signal?.aborted) leave();
      if (closing.signal.aborted) endListener(listener, closing.signal.reason);
      startReading();
      return read(listener, list, cursor);
    },
    /** Ends all streams. Their listeners continue at another instance, or after the restart. */
    close: async (): Promise<void> => {
      closing.abort();
      wakeUp.abort();
      for (const listener of listeners) endListener(listener, closing.signal.reason);
      await reading;
    },
  };
};

const TOO_MANY = {
  detail: `You have ${MAX_STREAMS_OF_USER} streams of events already. End some of them.`,
  retryAfterSeconds: 60,
};

/** Ends early if the signal is aborted. */
const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  pause(ms, undefined, { ref: false, signal }).catch(() => {});

const endListener = (listener: Listener, cause: unknown): void => {
  listener.end ??= { cause };
  listener.wake();
};

const setActor = (listener: Listener, actor: Actor): void => {
  listener.actor = actor;
  listener.sees = listener.seenBy(actor);
};

const fallBehind = (listener: Listener): void => {
  listener.waiting = null;
  listener.wake();
};

/** Reads the roles of a listener again. New roles change which events it sees. */
const check = async (listener: Listener): Promise<void> => {
  try {
    const actor = await listener.confirm();
    if (!listener.actor || hasSameRoles(actor, listener.actor)) return;
    setActor(listener, actor);
    fallBehind(listener);
  } catch (error) {
    endListener(listener, error);
  }
};

const hasSameRoles = (actor: Actor, other: Actor): boolean =>
  canAllOf(actor, other) && canAllOf(other, actor);

const deliver = async (listeners: Iterable<Listener>, rows: readonly EventRow[]): Promise<void> => {
  const concerned = [...listeners].filter(({ waiting, sees }) => waiting && rows.some(sees));
  await Promise.all(concerned.map(check));
  for (const listener of concerned) {
    const { waiting, sees } = listener;
    if (!waiting) continue;
    waiting.push(...rows.filter(sees));
    if (waiting.length > MAX_WAITING) fallBehind(listener);
    else listener.wake();
  }
};
