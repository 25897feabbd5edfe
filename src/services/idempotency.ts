import { createHash } from 'node:crypto';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { type Clock, DAY_MS } from '../core/clock.ts';
import { Problem } from '../core/problems.ts';
import type { Actor } from './actor.ts';
import { tables } from './tables.ts';

/** For how long a repeat gets the first answer. */
const KEPT_MS = DAY_MS;
const PRUNED_AT_ONCE = 10_000;

/** What a caller asked for under a key of its own choice; without a key it is done each time. */
export type IdempotentRequest = { key: string | null; operation: string; input: unknown };

export const createIdempotency = ({ em, clock }: { em: SqlEntityManager; clock: Clock }) => ({
  /**
   * Does the work in a transaction, and under a key only once: a repeat, also one at the same time or after a crash,
   * gets the first answer. The answer must be plain JSON.
   * @throws Problem `idempotency-key-reused` when the key came with another request before
   */
  once: <T>(
    actor: Actor,
    request: IdempotentRequest,
    work: (tx: SqlEntityManager) => Promise<T>,
  ): Promise<T> =>
    em.transactional(async (tx) => {
      const { key } = request;
      if (key === null) return work(tx);

      const claim = { key, userId: actor.id, fingerprint: fingerprintOf(request), now: clock.now() };
      const earlier = await claimKey<T>(tx, claim);
      if (earlier) return earlier.answer;
      const answer = await work(tx);
      await sql`update idempotent_answers set answer = ${JSON.stringify(answer)}::json
        where user_id = ${actor.id} and key = ${key}`.execute(tables(tx));
      return answer;
    }),
});

export type Idempotency = ReturnType<typeof createIdempotency>;

/** Removes answers that are no longer owed to anybody. */
export const pruneAnswers = async (em: SqlEntityManager, now: Date): Promise<void> => {
  const before = new Date(now.getTime() - KEPT_MS);
  for (;;) {
    const removed = await sql`
      delete from idempotent_answers where ctid = any(array(
        select ctid from idempotent_answers where created_at <= ${before} limit ${PRUNED_AT_ONCE}))`.execute(
      tables(em),
    );
    if (Number(removed.numAffectedRows ?? 0) < PRUNED_AT_ONCE) return;
  }
};

const fingerprintOf = ({ operation, input }: IdempotentRequest): string =>
  createHash('sha256')
    .update(JSON.stringify([operation, input]))
    .digest('hex');

type Claim = { userId: number; key: string; fingerprint: string; now: Date };

/** Null when the key is free, and ours now. It waits for another who has it and is not done. */
const claimKey = async <T>(tx: SqlEntityManager, claim: Claim): Promise<{ answer: T } | null> => {
  const { userId, key, fingerprint, now } = claim;
  const expired = new Date(now.getTime() - KEPT_MS);
  const claimed = await sql`
    insert into idempotent_answers (user_id, key, fingerprint, created_at)
    values (${userId}, ${key}, ${fingerprint}, ${now})
    on conflict (user_id, key) do update
      set fingerprint = excluded.fingerprint, created_at = excluded.created_at, answer = null
      where idempotent_answers.created_at <= ${expired}
    returning 1`.execute(tables(tx));
  if (claimed.rows.length > 0) return null;

  const found = await tables(tx)
    .selectFrom('idempotent_answers')
    .select(['fingerprint', 'answer'])
    .where('user_id', '=', userId)
    .where('key', '=', key)
    .executeTakeFirstOrThrow();
  if (found.fingerprint !== fingerprint) throw new Problem('idempotency-key-reused');
  return { answer: found.answer as T }; // what `once` has stored for the same request
};
