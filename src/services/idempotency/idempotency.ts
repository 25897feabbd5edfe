import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import { type Actor, hasRolesOf } from '../access/actor.ts';
import type { Unit } from '../unit.ts';

/** The `Idempotency-Key` of a request. */
export type IdempotencyKey = {
  key: string;
  /** Called when the stored response is returned. */
  onReplay: () => void;
};

/** The request that a key was used for. */
export type IdempotentRequest = {
  idempotencyKey: IdempotencyKey;
  operation: string;
  /** Equal for equal inputs. */
  input: string;
};

type Deps = Pick<Unit, 'em' | 'clock' | 'responseEncryption' | 'keyedMutex' | 'idempotencyHours'>;

/** Stores responses by user and idempotency key. */
export const createIdempotency = (deps: Deps) => {
  const { em, clock, responseEncryption, keyedMutex, idempotencyHours } = deps;
  /** Responses that were stored before are no longer repeated. */
  const expiredAt = (now: Date): Date => new Date(now.getTime() - idempotencyHours * HOUR_MS);
  const fingerprintOf = ({ operation, input }: IdempotentRequest): string =>
    responseEncryption.fingerprint(`${operation} ${input}`);

  /** @throws Problem `idempotency-key-reused`, `forbidden` */
  const openStored = async (actor: Actor, request: IdempotentRequest, stored: StoredResponse) => {
    const { idempotencyKey } = request;
    if (stored.fingerprint !== fingerprintOf(request)) throw new Problem('idempotency-key-reused');
    if (!hasStoredRoles(actor, stored)) throw new Problem('forbidden', ROLES_LOST);
    if (stored.response === null) throw new Error('no response stored for a committed idempotency key');
    idempotencyKey.onReplay();
    return responseEncryption.open(stored.response, contextOf(actor, idempotencyKey));
  };

  /** Serializes concurrent repeats in memory; waiting in the database would occupy a connection each. */
  const withKeyLock = <T>(actor: Actor, key: IdempotencyKey, work: () => Promise<T>): Promise<T> =>
    keyedMutex(contextOf(actor, key), work);

  return {
    withKeyLock,

    /**
     * Returns the stored response, or claims the key for the current transaction and returns null. Until the transaction
     * ends, other requests with the key wait.
     * @throws Problem `idempotency-key-reused` if the key was used for a different request, `forbidden` if the actor has
     * lost a role since
     */
    claim: async (actor: Actor, request: IdempotentRequest): Promise<string | null> => {
      const { id: userId, isSuperuser, isStaff, adminOf } = actor;
      const { key } = request.idempotencyKey;
      const now = clock.now();
      const claimed = await sql`
        insert into idempotent_responses (user_id, key, fingerprint, created_at, is_superuser, is_staff, admin_of)
        values (${userId}, ${key}, ${fingerprintOf(request)}, ${now}, ${isSuperuser}, ${isStaff}, ${[...adminOf]}::int[])
        on conflict (user_id, key) do update
          set fingerprint = excluded.fingerprint, created_at = excluded.created_at, response = null,
            is_superuser = excluded.is_superuser, is_staff = excluded.is_staff, admin_of = excluded.admin_of
          where idempotent_responses.created_at <= ${expiredAt(now)}
        returning 1`.execute(tables(em));
      if (claimed.rows.length > 0) return null;
      const stored = await storedResponse(em, userId, key, expiredAt(now));
      // Pruned or expired since the insert: the client may retry.
      if (!stored) throw new Problem('overloaded');
      return openStored(actor, request, stored);
    },

    /** Stores the response of the request that this transaction has claimed. */
    store: async (actor: Actor, idempotencyKey: IdempotencyKey, response: string): Promise<void> => {
      const sealed = await responseEncryption.seal(response, contextOf(actor, idempotencyKey));
      await tables(em)
        .updateTable('idempotent_responses')
        .set({ response: sealed })
        .where('user_id', '=', actor.id)
        .where('key', '=', idempotencyKey.key)
        .execute();
    },

    /**
     * Runs `work` once per key. Only the part inside `write` is a transaction, so slow work belongs before it. A repeat, also
     * a concurrent one or one after a crash, gets the stored response, which must be plain JSON.
     * @throws Problem `idempotency-key-reused`, `forbidden`
     */
    runOnce: <T>(
      actor: Actor,
      request: IdempotentRequest | null,
      work: (write: Write<T>) => Promise<T>,
    ): Promise<T> => {
      if (!request) return work((inside) => em.transactional(inside));
      return withKeyLock(actor, request.idempotencyKey, async () => {
        const stored = await storedResponse(em, actor.id, request.idempotencyKey.key, expiredAt(clock.now()));
        if (stored) return JSON.parse(await openStored(actor, request, stored)) as T; // stored for the same request
        return work((inside) =>
          em.transactional(async (tx) => {
            const claimed = createIdempotency({ ...deps, em: tx });
            const first = await claimed.claim(actor, request);
            if (first !== null) return JSON.parse(first) as T; // likewise
            const response = await inside(tx);
            await claimed.store(actor, request.idempotencyKey, JSON.stringify(response));
            return response;
          }),
        );
      });
    },
  };
};

type Write<T> = (inside: (tx: Db) => Promise<T>) => Promise<T>;

export type Idempotency = ReturnType<typeof createIdempotency>;

const ROLES_LOST = {
  detail:
    'You have lost a role since this Idempotency-Key was used, so its response is no longer available to you.',
};

/**
 * Whether the actor still has the roles that they had when they used the key, since the stored response shows what these roles
 * could see. Checked for every operation, because a response does not record which roles it depends on.
 */
const hasStoredRoles = (actor: Actor, { is_superuser, is_staff, admin_of }: StoredResponse): boolean =>
  hasRolesOf(actor, { isSuperuser: is_superuser, isStaff: is_staff, adminOf: admin_of });

const contextOf = (actor: Actor, { key }: IdempotencyKey): string => `${actor.id} ${key}`;

const storedResponse = (em: Db, userId: number, key: string, expiredAt: Date) =>
  tables(em)
    .selectFrom('idempotent_responses')
    .select(['fingerprint', 'response', 'is_superuser', 'is_staff', 'admin_of'])
    .where('user_id', '=', userId)
    .where('key', '=', key)
    .where('created_at', '>', expiredAt)
    .executeTakeFirst();

type StoredResponse = NonNullable<Awaited<ReturnType<typeof storedResponse>>>;
