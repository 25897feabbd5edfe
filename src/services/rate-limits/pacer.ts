import type { Pool } from 'pg';
import { Problem } from '../../lib/problems.ts';
import { NOW_MS } from './window-counter.ts';

/** On one instance, of all keys. Each holds a connection of its caller, and none of the database. */
const MAX_WAITING = 500;

type Deps = {
  /** The longest time between two turns. */
  longestMs: number;
  maxWaitMs: number;
  pause: (ms: number) => Promise<unknown>;
};

/**
 * The start of the next free turn is kept in `expire`. A turn that is further away than can be is ignored: the database clock was
 * set back.
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
 * Gives the callers of one key their turns one after the other, with so much time in between, on all instances together: a leaky
 * bucket. Waiting callers cannot pile up: one whose turn is too far away is refused.
 */
export const createPacer = (pool: Pool, { longestMs, maxWaitMs, pause }: Deps) => {
  let waiting = 0;
  return {
    /**
     * Must not be called while a database connection is held.
     * @param intervalMs the time until the turn after this one
     * @throws Problem `throttled`
     */
    waitForTurn: async (key: string, intervalMs: number): Promise<void> => {
      const refusal = new Problem('throttled', {
        detail: TOO_FAST,
        retryAfterSeconds: Math.ceil(intervalMs / 1000),
      });
      if (waiting >= MAX_WAITING) throw refusal;
      waiting += 1;
      try {
        const { rows } = await pool.query<{ waitMs: number }>(RESERVE, [
          key,
          intervalMs,
          longestMs,
          maxWaitMs,
        ]);
        const [turn] = rows;
        if (!turn) throw refusal;
        if (turn.waitMs > 0) await pause(turn.waitMs);
      } finally {
        waiting -= 1;
      }
    },
  };
};
