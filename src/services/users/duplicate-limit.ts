import { sql } from 'kysely';
import type { Pool } from 'pg';
import { type Db, tables } from '../../db/kysely.ts';
import { HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import { createWindowCounter } from '../rate-limits/counters.ts';

/** Accounts of other clients that an admin may find by trying to create them, in an hour. */
export const DUPLICATES_PER_HOUR = 20;

export type DuplicateLimit = ReturnType<typeof createDuplicateLimit>;

/**
 * Limits how many accounts of other clients an admin finds: creating a user tells whether the address is taken. At the limit, every
 * creation by this admin fails, whether the address is taken or not. Counted in the table `rate_limits`, for all instances.
 */
export const createDuplicateLimit = (pool: Pool) => {
  const duplicates = createWindowCounter(pool, HOUR_MS);
  return {
    /**
     * Call it before and after a creation, in its transaction: requests sent in one burst all pass the first call.
     * @throws Problem `throttled`
     */
    check: async (em: Db, actorId: number): Promise<void> => {
      const { rows } = await sql<{ msLeft: number }>`
        select (expire - extract(epoch from clock_timestamp()) * 1000)::float as "msLeft" from rate_limits
        where key = ${keyOf(actorId)} and points >= ${DUPLICATES_PER_HOUR}`.execute(tables(em));
      const msLeft = rows[0]?.msLeft ?? 0;
      if (msLeft > 0) throw tooManyDuplicates(Math.min(msLeft, HOUR_MS));
    },

    /**
     * Counts a found account. Must not be called in the transaction of the creation, which is rolled back.
     * @throws Problem `throttled` if it must not be reported any more
     */
    consume: async (actorId: number): Promise<void> => {
      const { points, msLeft } = await duplicates.add(keyOf(actorId));
      if (points > DUPLICATES_PER_HOUR) throw tooManyDuplicates(msLeft);
    },
  };
};

const keyOf = (actorId: number): string => `duplicate-user:${actorId}`;

const tooManyDuplicates = (msLeft: number): Problem => {
  const minutes = Math.ceil(msLeft / MINUTE_MS);
  const detail = `${DUPLICATES_PER_HOUR} of the users that you tried to create in the last hour already have an account in another client. You can create users again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}. Invite people instead: an invitation also reaches those who have an account.`;
  return new Problem('throttled', { detail, retryAfterSeconds: Math.max(1, Math.ceil(msLeft / 1000)) });
};
