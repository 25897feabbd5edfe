import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import type { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import type { ResponseEncryption } from './response-encryption.ts';

/** How long a repeated request gets the stored response. */
const RETENTION_MS = DAY_MS;
const PRUNE_BATCH = 10_000;

/** The `Idempotency-Key` of a request. */
export type IdempotencyKey = {
  key: string;
  /** Called when the stored response is returned. */
  onReplay: () => void;
};

/** The request that a key was used for. */
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

/** Stores responses by user and idempotency key. */
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
    if (found.answer === null) throw new Error('no response stored for a committed idempotency key');
    once.onReplay();
    return responseEncryption.open(found.answer, contextOf(actor, once));
  };

  const withKeyLock = <T>(actor: Actor, once: IdempotencyKey, work: () => Promise<T>): Promise<T> =>
    keyedMutex(contextOf(actor, once), work);

  return {
    /** Serializes concurrent repeats in memory; waiting in the database would occupy a connection each. */
    inTurn: withKeyLock,

    /**
     * Returns the stored response, or claims the key for the current transaction and returns null. Until the transaction
     * ends, other requests with the key wait.
     * @throws Problem `idempotency-key-reused` if the key was used for a different request, `forbidden` if the actor has
     * lost a role since
     */
    claim: async (actor: Actor, request: IdempotentRequest): Promise<string | null> => {
      const claim = { actor, key: request.once.key, now: clock.now() };
      const found = await claimKey(em, { ...claim, fingerprint: fingerprintOf(request) });
      return found && (await openStored(actor, request, found));
    },

    /** Stores the response of the request that this transaction has claimed. */
    keep: async (actor: Actor, once: IdempotencyKey, answer: string): Promise<void> => {
      const sealed = await responseEncryption.seal(answer, contextOf(actor, once));
      await tables(em)
        .updateTable('idempotent_answers')
        .set({ answer: sealed })
        .where('user_id', '=', actor.id)
        .where('key', '=', once.key)
        .execute();
    },

    /**
     * Runs `work` once per key. Only the part inside `write` is a transaction, so slow work belongs before it. A repeat, also
     * a concurrent one or one after a crash, gets the stored response, which must be plain JSON.
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

/** Deletes expired responses. */
export const pruneAnswers = async (em: SqlEntityManager, now: Date): Promise<void> => {
  for (;;) {
    const removed = await sql`
      delete from idempotent_answers where ctid = any(array(
        select ctid from idempotent_answers where created_at <= ${expiredAt(now)} limit ${PRUNE_BATCH}))`.execute(
      tables(em),
    );
    if (Number(removed.numAffectedRows ?? 0) < PRUNE_BATCH) return;
  }
};

const ROLES_LOST = {
  detail:
    'You have lost a role since this Idempotency-Key was used, so its response is no longer available to you.',
};

/**
 * Whether the actor still has the roles that they had when they used the key, since the stored response shows what these roles
 * could see. Checked for every operation, because a response does not record which roles it depends on.
 */
const hasRolesOf = (actor: Actor, { is_superuser, is_staff, admin_of }: StoredAnswer): boolean =>
  actor.isSuperuser ||
  (!is_superuser && (actor.isStaff || !is_staff) && admin_of.every((id) => actor.adminOf.includes(id)));

const contextOf = (actor: Actor, { key }: IdempotencyKey): string => `${actor.id} ${key}`;

const expiredAt = (now: Date): Date => new Date(now.getTime() - RETENTION_MS);

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

/** Claims a free key and returns null. Waits for a transaction that holds the key. */
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
  // Pruned or expired since the insert: the client may retry.
  if (!found) throw new Problem('overloaded');
  return found;
};
