import { createHash } from 'node:crypto';
import { CompiledQuery } from 'kysely';
import type { Pool } from 'pg';
import { DATABASE_TIME } from '../../db/database-clock.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';

export type WindowCount = {
  /** Points added in the window by all instances. */
  points: number;
  msLeft: number;
  /** The end of the window by the database clock, which identifies the window of a key. */
  window: string;
};

const NOW_MS = `(extract(epoch from ${DATABASE_TIME}) * 1000)::bigint`;
/** Never longer than a window, even if the database clock is set back. */
const MS_LEFT = `least(expire - ${NOW_MS}, $2::bigint)::int as "msLeft"`;

/**
 * One statement, which waits for concurrent ones of the same key. Uses the database clock, which all instances share:
 * an instance whose own clock is wrong would lock accounts for days, or unlock them. rate-limiter-flexible has no such
 * option.
 */
const ADD = `
  insert into rate_limits as current (key, points, expire) values ($1, $3, ${NOW_MS} + $2::bigint)
  on conflict (key) do update set
    points = case when current.expire > ${NOW_MS} then current.points else 0 end + excluded.points,
    expire = case when current.expire > ${NOW_MS} then least(current.expire, excluded.expire) else excluded.expire end
  returning points, expire::text as "window", ${MS_LEFT}`;

const READ = `
  select key, points, expire::text as "window", ${MS_LEFT} from rate_limits
  where key = any($1::varchar[]) and expire > ${NOW_MS}`;

/**
 * Counts points per key in the table `rate_limits`, shared by all instances. A fixed window starts with the first point.
 */
export const createWindowCounter = (pool: Pool, windowMs: number) => {
  return {
    /** Adds points to the current window, or starts a new one. */
    add: async (key: string, points = 1): Promise<WindowCount> => {
      const [count] = (await pool.query<WindowCount>(ADD, [key, windowMs, points])).rows;
      if (!count) throw new Error('upsert returned no row');
      return count;
    },

    /** Reads the current window of each key; null where no window is open. */
    read: async (...keys: string[]): Promise<(WindowCount | null)[]> => {
      const { rows } = await pool.query<WindowCount & { key: string }>(READ, [keys, windowMs]);
      return keys.map((key) => rows.find((row) => row.key === key) ?? null);
    },

    remove: async (...keys: string[]): Promise<void> => {
      await pool.query('delete from rate_limits where key = any($1::varchar[])', [keys]);
    },
  };
};

type HourlyLimit = {
  /** Of the keys: `email-change`. */
  prefix: string;
  perHour: number;
  /** What the caller is told. `msLeft`: until the hour ends. */
  detailOf: (msLeft: number) => string;
};

/** Limits what a user does in an hour. Counted for all instances. */
export const createHourlyLimit = (pool: Pool, { prefix, perHour, detailOf }: HourlyLimit) => {
  const counter = createWindowCounter(pool, HOUR_MS);
  const keyOf = (userId: number): string => `${prefix}:${userId}`;
  const refusalOf = (count: WindowCount): Problem =>
    new Problem('throttled', { detail: detailOf(count.msLeft), retryAfterSeconds: secondsLeft(count) });
  return {
    /**
     * Counts one, on another connection than that of a transaction, which may be rolled back.
     * @throws Problem `throttled` if it is one too many
     */
    add: async (userId: number): Promise<void> => {
      const count = await counter.add(keyOf(userId));
      if (count.points > perHour) throw refusalOf(count);
    },

    /** Reads on the connection of the caller. @throws Problem `throttled` if the limit is reached */
    check: async (em: Em, userId: number): Promise<void> => {
      const count = await readHour(em, keyOf(userId));
      if (count && count.points >= perHour) throw refusalOf(count);
    },
  };
};

export type HourlyLimiter = ReturnType<typeof createHourlyLimit>;

/** Counts something for a key in an hour, in a transaction: what is rolled back does not count. Concurrent ones of the key wait. */
export const countInHour = async (tx: Em, key: string): Promise<void> => {
  await kysely(tx).executeQuery(CompiledQuery.raw(ADD, [key, HOUR_MS, 1]));
};

/** How many times `countInHour` has counted in the present hour of a key. */
export const readCountOfHour = async (tx: Em, key: string): Promise<number> =>
  (await readHour(tx, key))?.points ?? 0;

const readHour = async (em: Em, key: string): Promise<WindowCount | undefined> =>
  (await kysely(em).executeQuery<WindowCount>(CompiledQuery.raw(READ, [[key], HOUR_MS]))).rows[0];

/** Hashes text of any length that callers send, so that it is not stored. */
export const hashKey = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Whole seconds, as in `Retry-After`. */
export const secondsLeft = ({ msLeft }: Pick<WindowCount, 'msLeft'>): number =>
  Math.max(1, Math.ceil(msLeft / 1000));

/** On one instance, of all keys. Each holds a connection of its caller, and none of the database. */
const MAX_WAITING = 500;

/** `longestMs`: the longest time between two turns. */
type Pace = { longestMs: number; maxWaitMs: number; pause: (ms: number) => Promise<unknown> };

/**
 * The start of the next free turn is kept in `expire`. A turn that is impossibly far away is ignored: the database clock
 * was set back.
 */
const NEXT_TURN = `case
  when current.expire between ${NOW_MS} and ${NOW_MS} + $3::bigint + $4::bigint then current.expire
  else ${NOW_MS}
end`;

/** Reserves the next free turn, unless it is too far away: then no row is returned. */
const RESERVE = `
  insert into rate_limits as current (key, points, expire) values ($1, 0, ${NOW_MS} + $2::bigint)
  on conflict (key) do update set expire = ${NEXT_TURN} + $2::bigint
  where ${NEXT_TURN} <= ${NOW_MS} + $4::bigint
  returning (expire - $2::bigint - ${NOW_MS})::int as "waitMs"`;

const TOO_FAST =
  'Many logins of this network have failed, so they are slowed down for now. Try again in a moment.';

/**
 * Gives the callers of one key their turns one after another, with an interval between them, across all instances: a
 * leaky bucket. Waiting callers cannot pile up: one whose turn is too far away is refused.
 */
export const createPacer = (pool: Pool, { longestMs, maxWaitMs, pause }: Pace) => {
  let waiting = 0;
  return {
    /**
     * Must not be called while a database connection is held.
     * @param intervalMs the time until the turn after this one
     * @throws Problem `throttled`
     */
    waitForTurn: async (key: string, intervalMs: number): Promise<void> => {
      const retryAfterSeconds = Math.ceil(intervalMs / 1000);
      const refusal = new Problem('throttled', { detail: TOO_FAST, retryAfterSeconds });
      if (waiting >= MAX_WAITING) throw refusal;
      waiting += 1;
      try {
        const values = [key, intervalMs, longestMs, maxWaitMs];
        const [turn] = (await pool.query<{ waitMs: number }>(RESERVE, values)).rows;
        if (!turn) throw refusal;
        if (turn.waitMs > 0) await pause(turn.waitMs);
      } finally {
        waiting -= 1;
      }
    },
  };
};
