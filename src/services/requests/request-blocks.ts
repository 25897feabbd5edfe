import type { Pool } from 'pg';

/** A window as the database knows it, after points were taken from it. */
export type Taken = {
  /** When it ends, by the clock of the database: no two windows of a key have the same. */
  window: string;
  msLeft: number;
  /** All that was taken in it, by whichever instance, this time included. */
  points: number;
};

/**
 * In one statement, which waits for others of the same key. By the clock of the database: rate-limiter-flexible, whose
 * table this is, goes by that of each instance, and one that is late would use up in the next window what it has of this.
 */
const TAKE = `
  insert into rate_limits as taken (key, points, expire)
  values ($1, $2, (extract(epoch from now()) * 1000)::bigint + $3)
  on conflict (key) do update set
    points = case when taken.expire > excluded.expire - $3 then taken.points else 0 end + excluded.points,
    expire = case when taken.expire > excluded.expire - $3 then taken.expire else excluded.expire end
  returning points, expire::text as "window", (expire - (extract(epoch from now()) * 1000)::bigint)::int as "msLeft"`;

/** Takes points of a key, in the window that is open or a new one. Rows are removed along with all of that table. */
export const takeBlock = async (
  pool: Pool,
  { key, points, windowMs }: { key: string; points: number; windowMs: number },
): Promise<Taken> => {
  const values = [`requests:${key}`, points, windowMs];
  const { rows } = await pool.query<Taken>({ name: 'take-requests', text: TAKE, values });
  const [taken] = rows;
  if (!taken) throw new Error('an upsert returns its row');
  return taken;
};
