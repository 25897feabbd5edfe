import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { createKeyedLimit } from '../../lib/keyed-limit.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { canAllOf, MEMBER } from '../access/permissions.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

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

/** Shorter than the time limit of calls. */
const MAX_WAIT_SECONDS = 5;

/** Serializes requests with the same key in this process. Those that wait for too long fail with `overloaded`. */
export const createKeyedMutex = (maxWaitSeconds = MAX_WAIT_SECONDS) =>
  createKeyedLimit(1, {
    maxWait: {
      ms: maxWaitSeconds * 1_000,
      failure: () =>
        new Problem('overloaded', {
          detail: 'Another request with this Idempotency-Key is still running. Repeat the request later.',
          retryAfterSeconds: MAX_WAIT_SECONDS,
        }),
    },
  });

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'responseEncryption' | 'keyedMutex' | 'idempotencyHours'>;

/** Stores responses by user and idempotency key. */
export const createIdempotency = (deps: Deps) => {
  const { em } = deps;
  /**
   * Runs the work of one request with the key at a time, in this process: a repeat at another instance waits in the database,
   * where it occupies a connection.
   * @throws Problem `overloaded` if it waits for too long
   */
  const oneAtATime = <T>(actor: Actor, key: IdempotencyKey, work: () => Promise<T>): Promise<T> =>
    deps.keyedMutex(encryptionContextOf(actor, key), work);

  return {
    oneAtATime,

    /**
     * Returns the stored response, or claims the key for the current transaction and returns null. Until the transaction
     * ends, other requests with the key wait.
     * @throws Problem `idempotency-key-reused` if the key was used for a different request, `forbidden` if the actor has
     * lost a role since
     */
    claim: (actor: Actor, request: IdempotentRequest) => claim(deps, em, actor, request),

    /** Stores the response of the request that this transaction has claimed. */
    store: (actor: Actor, idempotencyKey: IdempotencyKey, response: string) =>
      store(deps, em, actor, idempotencyKey, response),

    /**
     * Runs `work` once per key. Only the part inside `write` is a transaction, so slow work belongs before it. A repeat, also
     * a concurrent one or one after a crash, gets the stored response, which must be plain JSON.
     * @throws Problem `idempotency-key-reused`, `forbidden`, `overloaded`
     */
    runOnce: <T>(
      actor: Actor,
      request: IdempotentRequest | null,
      work: (write: Write<T>) => Promise<T>,
    ): Promise<T> => {
      if (!request) return work((inside) => em.transactional(inside));
      return oneAtATime(actor, request.idempotencyKey, async () => {
        const stored = await readStored(deps, em, actor, request);
        if (stored) {
          requireSameRequest(deps, actor, request, stored);
          return JSON.parse(await openResponse(deps, actor, request, stored.response)) as T; // stored for the same request
        }
        return work((inside) =>
          em.transactional(async (tx) => {
            const first = await claim(deps, tx, actor, request);
            if (first !== null) return JSON.parse(first) as T; // likewise
            const response = await inside(tx);
            await store(deps, tx, actor, request.idempotencyKey, JSON.stringify(response));
            return response;
          }),
        );
      });
    },

    /**
     * Runs work that consists of several transactions. `begin` decides what is to be done; with a key, its plan is stored before
     * the work starts. A repeat after a crash carries out the same plan, and one after the response gets the response. Repeats
     * at other instances do so at the same time: `work` must change each row once per plan. All of them return the response
     * that is stored first. Plan and response must be plain JSON.
     * @throws Problem `idempotency-key-reused`, `forbidden`, `overloaded`
     */
    runPlan: async <P, T>(
      actor: Actor,
      request: IdempotentRequest | null,
      begin: (tx: Em) => Promise<P>,
      work: (plan: P) => Promise<T>,
    ): Promise<T> => {
      if (!request) return work(await em.transactional(begin));
      return oneAtATime(actor, request.idempotencyKey, async () => {
        const opened = await openPlan(deps, actor, request, begin);
        if ('response' in opened) return JSON.parse(opened.response) as T; // stored for the same request
        const response = JSON.stringify(await work(opened.plan));
        return JSON.parse(await finish(deps, actor, request, response)) as T; // likewise
      });
    },
  };
};

type Write<T> = (inside: (tx: Em) => Promise<T>) => Promise<T>;

export type Idempotency = ReturnType<typeof createIdempotency>;

const claim = async (
  deps: Deps,
  tx: Em,
  actor: Actor,
  request: IdempotentRequest,
): Promise<string | null> => {
  const stored = await claimRow(deps, tx, actor, request);
  return stored && openResponse(deps, actor, request, stored.response);
};

const store = async (
  { responseEncryption }: Deps,
  tx: Em,
  actor: Actor,
  idempotencyKey: IdempotencyKey,
  response: string,
): Promise<void> => {
  const sealed = await responseEncryption.seal(response, encryptionContextOf(actor, idempotencyKey));
  await ownRow(tx, actor, idempotencyKey).set({ response: sealed }).execute();
};

/**
 * Returns what is stored for the key, or claims the key for this transaction and returns null.
 * @throws Problem `idempotency-key-reused`, `forbidden`
 */
const claimRow = async (
  deps: Deps,
  tx: Em,
  actor: Actor,
  request: IdempotentRequest,
): Promise<StoredResponse | null> => {
  const { id: userId, isSuperuser, isStaff, adminOf } = actor;
  const { key } = request.idempotencyKey;
  const claimed = await sql`
    insert into idempotent_responses (user_id, key, fingerprint, created_at, is_superuser, is_staff, admin_of)
    values (${userId}, ${key}, ${fingerprintOf(deps, request)}, ${deps.clock.now()}, ${isSuperuser}, ${isStaff},
      ${[...adminOf]}::int[])
    on conflict (user_id, key) do update
      set fingerprint = excluded.fingerprint, created_at = excluded.created_at, response = null, checkpoint = null,
        is_superuser = excluded.is_superuser, is_staff = excluded.is_staff, admin_of = excluded.admin_of
      where idempotent_responses.created_at <= ${expiredAt(deps)}
    returning 1`.execute(kysely(tx));
  if (claimed.rows.length > 0) return null;
  const stored = await readStored(deps, tx, actor, request);
  // Pruned or expired since the insert: the client may retry.
  if (!stored) throw new Problem('overloaded');
  requireSameRequest(deps, actor, request, stored);
  return stored;
};

/** @throws Problem `idempotency-key-reused`, `forbidden` */
const requireSameRequest = (
  deps: Deps,
  actor: Actor,
  request: IdempotentRequest,
  stored: StoredResponse,
): void => {
  if (stored.fingerprint !== fingerprintOf(deps, request)) throw new Problem('idempotency-key-reused');
  // The response shows what the roles of that time could see, and does not record which of them it depends on.
  // Only of those that allow mutations, or show what these return.
  const { is_superuser: isSuperuser, is_staff: isStaff, admin_of: adminOf } = stored;
  const roles = { ...MEMBER, isSuperuser, isStaff, adminOf };
  if (!canAllOf(actor, roles)) throw new Problem('forbidden', ROLES_LOST);
};

const ROLES_LOST = {
  detail:
    'You have lost a role since this Idempotency-Key was used, so its response is no longer available to you.',
};

const openResponse = (
  { responseEncryption }: Deps,
  actor: Actor,
  { idempotencyKey }: IdempotentRequest,
  response: Uint8Array | null,
) => {
  if (response === null) throw new Error('no response stored for a committed idempotency key');
  idempotencyKey.onReplay();
  return responseEncryption.open(response, encryptionContextOf(actor, idempotencyKey));
};

/**
 * Claims the key and stores the plan of the request, or returns what an earlier request has stored: its plan, or its
 * response if it is finished.
 */
const openPlan = <P>(deps: Deps, actor: Actor, request: IdempotentRequest, begin: (tx: Em) => Promise<P>) =>
  deps.em.transactional(async (tx): Promise<{ plan: P } | { response: string }> => {
    const stored = await claimRow(deps, tx, actor, request);
    const context = checkpointContextOf(actor, request.idempotencyKey);
    if (stored?.checkpoint) {
      const plan: P = JSON.parse(await deps.responseEncryption.open(stored.checkpoint, context));
      return { plan };
    }
    if (stored) return { response: await openResponse(deps, actor, request, stored.response) };
    const plan = await begin(tx);
    const checkpoint = await deps.responseEncryption.seal(JSON.stringify(plan), context);
    await ownRow(tx, actor, request.idempotencyKey).set({ checkpoint }).execute();
    return { plan };
  });

/** Stores the response, unless another instance has finished the same request before: then returns its response. */
const finish = async (
  deps: Deps,
  actor: Actor,
  request: IdempotentRequest,
  response: string,
): Promise<string> => {
  const { idempotencyKey } = request;
  const sealed = await deps.responseEncryption.seal(response, encryptionContextOf(actor, idempotencyKey));
  const { numUpdatedRows } = await ownRow(deps.em, actor, idempotencyKey)
    .set({ response: sealed, checkpoint: null })
    .where('fingerprint', '=', fingerprintOf(deps, request))
    .where('checkpoint', 'is not', null)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) return response;
  const first = await readStored(deps, deps.em, actor, request);
  // The row is missing if it has expired since, or if the actor was erased.
  return first?.fingerprint === fingerprintOf(deps, request) && first.response
    ? openResponse(deps, actor, request, first.response)
    : response;
};

/** Responses that were stored before are no longer repeated. */
const expiredAt = ({ clock, idempotencyHours }: Deps): Date =>
  new Date(clock.now().getTime() - idempotencyHours * HOUR_MS);

const fingerprintOf = ({ responseEncryption }: Deps, { operation, input }: IdempotentRequest): string =>
  responseEncryption.fingerprint(`${operation} ${input}`);

const encryptionContextOf = (actor: Actor, { key }: IdempotencyKey): string => `${actor.id} ${key}`;

/** Keys contain no space. */
const checkpointContextOf = (actor: Actor, key: IdempotencyKey): string =>
  `${encryptionContextOf(actor, key)} checkpoint`;

const ownRow = (em: Em, { id }: Actor, { key }: IdempotencyKey) =>
  kysely(em).updateTable('idempotent_responses').where('user_id', '=', id).where('key', '=', key);

const readStored = (deps: Deps, em: Em, { id }: Actor, { idempotencyKey }: IdempotentRequest) =>
  kysely(em)
    .selectFrom('idempotent_responses')
    .select(['fingerprint', 'response', 'checkpoint', 'is_superuser', 'is_staff', 'admin_of'])
    .where('user_id', '=', id)
    .where('key', '=', idempotencyKey.key)
    .where('created_at', '>', expiredAt(deps))
    .executeTakeFirst();

type StoredResponse = NonNullable<Awaited<ReturnType<typeof readStored>>>;
