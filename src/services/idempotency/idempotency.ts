import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import type { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import type { ResponseEncryption } from './response-encryption.ts';

/** For how long a repeat gets the first answer. */
const KEPT_MS = DAY_MS;
const PRUNED_AT_ONCE = 10_000;

/** What a caller has named a request by, so that it is done once. */
export type IdempotencyKey = {
  key: string;
  /** Told when the answer is the first one again. */
  onReplay: () => void;
};

/** What was asked under a key. */
export type IdempotentRequest = {
  once: IdempotencyKey;
  operation: string;
  /** As text that is the same whenever the same is meant. */
  input: string;
};

type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  responseEncryption: ResponseEncryption;
  keyedMutex: KeyedMutex;
};

/** First answers, as text, by user and key. */
export const createIdempotency = ({ em, clock, responseEncryption, keyedMutex }: Deps) => {
  const fingerprintOf = ({ operation, input }: IdempotentRequest): string =>
    responseEncryption.fingerprint(`${operation} ${input}`);

  /** @throws Problem `idempotency-key-reused`, `forbidden` */
  const openStored = async (
    actor: Actor,
    request: IdempotentRequest,
    found: StoredAnswer,
  ): Promise<string> => {
    const { once } = request;
    if (found.fingerprint !== fingerprintOf(request)) throw new Problem('idempotency-key-reused');
    if (!hasRolesOf(actor, found)) throw new Problem('forbidden', ROLES_LOST);
    if (found.answer === null) throw new Error('a key was claimed, and no answer kept');
    once.onReplay();
    return responseEncryption.open(found.answer, placeOf(actor, once));
  };

  const withKeyLock = <T>(actor: Actor, once: IdempotencyKey, work: () => Promise<T>): Promise<T> =>
    keyedMutex(placeOf(actor, once), work);

  return {
    /** Repeats that come together wait here: in the database, each would keep a connection from the one at work. */
    inTurn: withKeyLock,

    /**
     * The first answer, or null and the key is claimed by the transaction that this is called in: until it ends,
     * others who bring the key wait.
     * @throws Problem `idempotency-key-reused` when the key came with another request before, `forbidden` when the actor
     * has lost a role since
     */
    claim: async (actor: Actor, request: IdempotentRequest): Promise<string | null> => {
      const claim = { actor, key: request.once.key, now: clock.now() };
      const found = await claimKey(em, { ...claim, fingerprint: fingerprintOf(request) });
      return found && (await openStored(actor, request, found));
    },

    /** Keeps the answer to what this transaction has claimed. */
    keep: async (actor: Actor, once: IdempotencyKey, answer: string): Promise<void> => {
      const sealed = await responseEncryption.seal(answer, placeOf(actor, once));
      await tables(em)
        .updateTable('idempotent_answers')
        .set({ answer: sealed })
        .where('user_id', '=', actor.id)
        .where('key', '=', once.key)
        .execute();
    },

    /**
     * Does a work once, of which only the end is a transaction: what comes before `write` may take as long as it
     * likes. A repeat, also one at the same time or after a crash, gets the first answer, which must be plain JSON.
     * @throws Problem `idempotency-key-reused`, `forbidden`
     */
    once: <T>(
      actor: Actor,
      request: IdempotentRequest | null,
      work: (write: Write<T>) => Promise<T>,
    ): Promise<T> => {
      if (!request) return work((inside) => em.transactional(inside));
      return withKeyLock(actor, request.once, async () => {
        const found = await storedAnswer(em, actor.id, request.once.key, clock.now());
        if (found) return JSON.parse(await openStored(actor, request, found)) as T; // what was kept for the same request
        return work((inside) =>
          em.transactional(async (tx) => {
            const claimed = createIdempotency({ em: tx, clock, responseEncryption, keyedMutex });
            const first = await claimed.claim(actor, request);
            if (first !== null) return JSON.parse(first) as T; // likewise
            const answer = await inside(tx);
            await claimed.keep(actor, request.once, JSON.stringify(answer));
            return answer;
          }),
        );
      });
    },
  };
};

type Write<T> = (inside: (tx: SqlEntityManager) => Promise<T>) => Promise<T>;

export type Idempotency = ReturnType<typeof createIdempotency>;

/** Removes answers that are no longer owed to anybody. */
export const pruneAnswers = async (em: SqlEntityManager, now: Date): Promise<void> => {
  for (;;) {
    const removed = await sql`
      delete from idempotent_answers where ctid = any(array(
        select ctid from idempotent_answers where created_at <= ${expiredAt(now)} limit ${PRUNED_AT_ONCE}))`.execute(
      tables(em),
    );
    if (Number(removed.numAffectedRows ?? 0) < PRUNED_AT_ONCE) return;
  }
};

const ROLES_LOST = {
  detail:
    'You have lost a role since this Idempotency-Key was used, so its response is no longer available to you.',
};

/**
 * Whether an actor still has the roles that they had when they used a key: the first answer shows what these roles could
 * see. Checked for every operation, because an answer does not say which of the roles it depends on.
 */
const hasRolesOf = (actor: Actor, { is_superuser, is_staff, admin_of }: StoredAnswer): boolean =>
  actor.isSuperuser ||
  (!is_superuser && (actor.isStaff || !is_staff) && admin_of.every((id) => actor.adminOf.includes(id)));

const placeOf = (actor: Actor, { key }: IdempotencyKey): string => `${actor.id} ${key}`;

const expiredAt = (now: Date): Date => new Date(now.getTime() - KEPT_MS);

const storedAnswer = (em: SqlEntityManager, userId: number, key: string, now: Date) =>
  tables(em)
    .selectFrom('idempotent_answers')
    .select(['fingerprint', 'answer', 'is_superuser', 'is_staff', 'admin_of'])
    .where('user_id', '=', userId)
    .where('key', '=', key)
    .where('created_at', '>', expiredAt(now))
    .executeTakeFirst();

type StoredAnswer = NonNullable<Awaited<ReturnType<typeof storedAnswer>>>;
type Claim = { actor: Actor; key: string; fingerprint: string; now: Date };

/** Null when the key is free, and ours now. It waits for another who has it and is not done. */
const claimKey = async (tx: SqlEntityManager, claim: Claim): Promise<StoredAnswer | null> => {
  const { actor, key, fingerprint, now } = claim;
  const { id: userId, isSuperuser, isStaff, adminOf } = actor;
  const claimed = await sql`
    insert into idempotent_answers (user_id, key, fingerprint, created_at, is_superuser, is_staff, admin_of)
    values (${userId}, ${key}, ${fingerprint}, ${now}, ${isSuperuser}, ${isStaff}, ${[...adminOf]}::int[])
    on conflict (user_id, key) do update
      set fingerprint = excluded.fingerprint, created_at = excluded.created_at, answer = null,
        is_superuser = excluded.is_superuser, is_staff = excluded.is_staff, admin_of = excluded.admin_of
      where idempotent_answers.created_at <= ${expiredAt(now)}
    returning 1`.execute(tables(tx));
  if (claimed.rows.length > 0) return null;
  const found = await storedAnswer(tx, userId, key, now);
  // It was removed, or grew too old, in this very moment: the caller may try again.
  if (!found) throw new Problem('overloaded');
  return found;
};
