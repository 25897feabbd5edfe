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
  /** The end of the window by the database clock. It identifies the window of a key. */
  window: string;
};

const NOW_MS = `(extract(epoch from ${DATABASE_TIME}) * 1000)::bigint`;
/** Never longer than a window, even if the database clock is set back. */
const MS_LEFT = `least(expire - ${NOW_MS}, $2::bigint)::int as "msLeft"`;

/**
 * One statement, which waits for concurrent ones on the same key. Uses the database clock, which all instances share: an instance whose own
 * clock is wrong would lock accounts for days, or unlock them. rate-limiter-flexible has no such option.
 */
const ADD = `
  insert into rate_limits as current (key, points, expire) values ($1, $3, ${NOW_MS} + $2::bigint)
  on conflict (key) do update set
    points = case when current.expire > ${NOW_MS} then current.points else 0 end + excluded.points,
    expire = case when current.expire > ${NOW_MS} then least(current.expire, excluded.expire) else excluded.expire end
  returning points, expire::text as "window", ${MS_LEFT}`;

const READ = `
  select points, expire::text as "window", ${MS_LEFT} from rate_limits where key = $1 and expire > ${NOW_MS}`;

const GIVE_BACK = 'update rate_limits set points = points - 1 where key = $1 and expire = $2::bigint';

type Window = { key: string; windowMs: number };

/** Adds points for a key, shared by all instances. A fixed window starts with the first point. */
export const addPoints = async (pool: Pool, { key, windowMs }: Window, points = 1): Promise<WindowCount> => {
  const [count] = (await pool.query<WindowCount>(ADD, [key, windowMs, points])).rows;
  if (!count) throw new Error('upsert returned no row');
  return count;
};

/** At most `max` points for each key in a window. */
export type Limit = { max: number; windowMs: number };
export type Bucket = Limit & { key: string };
type Taken = Pick<WindowCount, 'points' | 'window'> & { key: string };

export const createBuckets = (pool: Pool) => {
  /** One statement for each key: one for all keys could wait for another one that waits for it. */
  const giveBack = async (taken: readonly Taken[]): Promise<void> => {
    for (const { key, window } of taken) await pool.query(GIVE_BACK, [key, window]);
  };

  return {
    /**
     * Counts one in each bucket, in this order; if one is full, in none.
     * @throws Problem `throttled`
     */
    take: async (...buckets: Bucket[]): Promise<Taken[]> => {
      const taken: Taken[] = [];
      for (const { key, windowMs, max } of buckets) {
        const count = await addPoints(pool, { key, windowMs });
        taken.push({ ...count, key });
        if (count.points <= max) continue;
        await giveBack(taken);
        throw new Problem('throttled', { retryAfterSeconds: secondsLeft(count) });
      }
      return taken;
    },

    giveBack,
  };
};

type HourlyLimit = {
  /** The prefix of the keys: `email-change`. */
  prefix: string;
  perHour: number;
  /** The message for the caller. `msLeft`: until the hour ends. */
  detailOf: (msLeft: number) => string;
};

/** Limits an action of a user per hour. Counted for all instances. */
export const createHourlyLimit = (pool: Pool, { prefix, perHour, detailOf }: HourlyLimit) => {
  const keyOf = (userId: number): string => `${prefix}:${userId}`;
  const refusalOf = (count: WindowCount): Problem =>
    new Problem('throttled', { detail: detailOf(count.msLeft), retryAfterSeconds: secondsLeft(count) });
  return {
    /**
     * Counts one action, on a separate connection: the caller's transaction may be rolled back.
     * @throws Problem `throttled` if it exceeds the limit
     */
    add: async (userId: number): Promise<void> => {
      const count = await addPoints(pool, { key: keyOf(userId), windowMs: HOUR_MS });
      if (count.points > perHour) throw refusalOf(count);
    },

    /** Reads on the connection of the caller. @throws Problem `throttled` if the limit is reached */
    check: async (em: Em, userId: number): Promise<void> => {
      const count = await readHour(em, keyOf(userId));
      if (count && count.points >= perHour) throw refusalOf(count);
    },
  };
};

const readHour = async (em: Em, key: string): Promise<WindowCount | undefined> =>
  (await kysely(em).executeQuery<WindowCount>(CompiledQuery.raw(READ, [key, HOUR_MS]))).rows[0];

/** Hashes text of any length that callers send, so that it is not stored. */
export const hashKey = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Whole seconds, as in `Retry-After`. */
export const secondsLeft = ({ msLeft }: Pick<WindowCount, 'msLeft'>): number =>
  Math.max(1, Math.ceil(msLeft / 1000));
