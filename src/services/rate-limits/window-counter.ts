import { createHash } from 'node:crypto';
import type { Pool } from 'pg';

/** A window as the database knows it. */
export type Count = {
  /** All that was added in it, by whichever instance. */
  points: number;
  msLeft: number;
  /** When it ends, by the clock of the database: no two windows of a key have the same. */
  window: string;
};

const NOW_MS = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
/** Never longer than a window, should the clock of the database be set back. */
const MS_LEFT = (end: string) => `least(${end} - ${NOW_MS}, $2::bigint)::int as "msLeft"`;

/**
 * In one statement, which waits for others of the same key. By the clock of the database, which all instances share: by
 * their own, one whose clock is wrong would lock accounts for days, or unlock them.
 */
const ADD = `
  insert into rate_limits as known (key, points, expire) values ($1, $3, ${NOW_MS} + $2::bigint)
  on conflict (key) do update set
    points = case when known.expire > ${NOW_MS} then known.points else 0 end + excluded.points,
    expire = case when known.expire > ${NOW_MS} then least(known.expire, excluded.expire) else excluded.expire end
  returning points, expire::text as "window", ${MS_LEFT('expire')}`;

const READ = `
  select points, expire::text as "window", ${MS_LEFT('expire')} from rate_limits
  where key = $1 and expire > ${NOW_MS}`;

export type Counter = ReturnType<typeof createCounter>;

/** Counts in the table `rate_limits`, in windows that begin with the first point, so that all instances share the count. */
export const createCounter = (
  pool: Pool,
  { keyPrefix, windowMs }: { keyPrefix: string; windowMs: number },
) => {
  const run = async (text: string, ...values: unknown[]): Promise<Count[]> => {
    const client = await pool.connect();
    try {
      return (await client.query<Count>(text, values)).rows;
    } finally {
      client.release();
    }
  };
  const keyWith = (key: string): string => `${keyPrefix}:${key}`;

  return {
    /** Adds points of a key, to the window that is open or a new one. */
    add: async (key: string, points = 1): Promise<Count> => {
      const [count] = await run(ADD, keyWith(key), windowMs, points);
      if (!count) throw new Error('an upsert returns its row');
      return count;
    },

    /** The window that is open, or null. */
    read: async (key: string): Promise<Count | null> =>
      (await run(READ, keyWith(key), windowMs)).at(0) ?? null,

    remove: async (key: string): Promise<void> => {
      await run('delete from rate_limits where key = $1', keyWith(key));
    },
  };
};

/** Hashed, because what callers send is any text of any length and need not be kept. */
export const hashKey = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Whole seconds, as `Retry-After` has them. */
export const secondsLeft = ({ msLeft }: Count): number => Math.max(1, Math.ceil(msLeft / 1000));

/** Of IPv6 the /64 that one customer is given: they have as many addresses in it as they like. */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head.split(':').filter(Boolean);
  const trailing = tail.split(':').filter(Boolean);
  const zeros = Array(Math.max(0, 8 - groups.length - trailing.length)).fill('0');
  return [...groups, ...(address.includes('::') ? zeros : []), ...trailing].slice(0, 4).join(':');
};
