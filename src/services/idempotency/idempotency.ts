import { hash as digest } from 'node:crypto';
import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { parseJson } from '../../lib/exact-json.ts';
import { createKeyedLimit } from '../../lib/keyed-limit.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { canAllOf, roleFieldsOf, rolesOf } from '../access/permissions.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** The `Idempotency-Key` of a request. */
export type IdempotencyKey = {
  key: string;
  /** Called when the stored response is returned. */
  onReplay: () => void;
};

/** The request that a key is used for. */
export type IdempotentRequest = {
  actor: Actor;
  idempotencyKey: IdempotencyKey;
  operation: string;
  /** A text, or a value whose JSON is the same for equal inputs. */
  input: unknown;
};

type Request = Omit<IdempotentRequest, 'idempotencyKey'> & { idempotencyKey: IdempotencyKey | null };

/** Shorter than the time limit of calls. */
const MAX_WAIT_SECONDS = 5;

/** Serializes requests with the same key in this process. Requests that wait too long fail with `overloaded`. */
export const createKeyedMutex = () => {
  const detail =
    'Another request with this key, or of this kind, is still running. Repeat the request later.';
  const failure = () => new Problem('overloaded', { detail, retryAfterSeconds: MAX_WAIT_SECONDS });
  return createKeyedLimit(1, { maxWait: { ms: MAX_WAIT_SECONDS * 1_000, failure } });
};

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'responseEncryption' | 'keyedMutex' | 'idempotencyHours'>;

/** Stores responses by user and idempotency key. */
export const createIdempotency = (deps: Deps) => {
  const { em } = deps;
  /**
   * Runs the work of one request per key at a time, in this process: a repeat at another instance waits in the database, where it occupies
   * a connection.
   * @throws Problem `overloaded` if it waits too long
   */
  const oneAtATime = <T>(request: IdempotentRequest, work: () => Promise<T>): Promise<T> =>
    deps.keyedMutex(contextOf(request), work);

  return {
    oneAtATime,

    /**
     * Returns the stored response, or claims the key for the current transaction and returns null. Until the transaction ends, other
     * requests with the key wait.
     * @throws Problem `idempotency-key-reused` if the key was used for a different request, `forbidden` if the actor has lost a role since
     */
    claim: async (request: IdempotentRequest): Promise<string | null> => {
      const row = rowOf(deps, request);
      const stored = await row.claim(em);
      return stored && row.open(stored.response);
    },

    /** Stores the response of the request that this transaction has claimed. */
    store: (request: IdempotentRequest, response: string): Promise<void> =>
      rowOf(deps, request).store(em, response),

    /**
     * Runs `work` once per key. Only the part inside `write` is a transaction, so slow work belongs before it. A repeat, even a concurrent
     * one or one after a crash, gets the stored response, which must be plain JSON.
     * @throws Problem `idempotency-key-reused`, `forbidden`, `overloaded`
     */
    runOnce: <T>(request: Request, work: (write: Write<T>) => Promise<T>): Promise<T> => {
      if (!hasKey(request)) return work((inside) => em.transactional(inside));
      const row = rowOf(deps, request);
      // The response was stored for the same request.
      const replay = async ({ response }: { response: Uint8Array | null }) =>
        parseJson(await row.open(response)) as T;
      return oneAtATime(request, async () => {
        const stored = await row.readSame(em);
        if (stored) return replay(stored);
        return work((inside) =>
          em.transactional(async (tx) => {
            const first = await row.claim(tx);
            if (first) return replay(first);
            const response = await inside(tx);
            await row.store(tx, JSON.stringify(response));
            return response;
          }),
        );
      });
    },

    /**
     * Runs work that consists of several transactions. `begin` plans the work; with a key, the plan is stored before the work starts. A
     * repeat after a crash carries out the same plan; a repeat after the end gets the response. Repeats at other instances run at the same
     * time: `work` must change each row once per plan. All of them return the response that is stored first. Plan and response must be
     * plain JSON.
     * @throws Problem `idempotency-key-reused`, `forbidden`, `overloaded`
     */
    runPlan: async <P, T>(
      request: Request,
      begin: (tx: Em) => Promise<P>,
      work: (plan: P) => Promise<T>,
    ): Promise<T> => {
      if (!hasKey(request)) return work(await em.transactional(begin));
      const row = rowOf(deps, request);
      return oneAtATime(request, async () => {
        const opened = await em.transactional((tx) => row.openPlan(tx, begin));
        if ('response' in opened) return parseJson(opened.response) as T; // stored for the same request
        const response = JSON.stringify(await work(opened.plan));
        return parseJson(await row.finish(em, response)) as T; // likewise
      });
    },
  };
};

type Write<T> = (inside: (tx: Em) => Promise<T>) => Promise<T>;

export type Idempotency = ReturnType<typeof createIdempotency>;

const hasKey = (request: Request): request is IdempotentRequest => request.idempotencyKey !== null;

/** The key as it is stored: a token with scopes has keys of its own, because it must not get the responses of wider credentials. */
const storedKey = ({ actor, idempotencyKey }: IdempotentRequest): string =>
  actor.scope.actions === null
    ? idempotencyKey.key
    : digest('sha256', `${actor.scope.actions.toSorted().join()} ${idempotencyKey.key}`);

/** Responses are sealed for their user, for the client to which the credential is confined, and for the key. */
const contextOf = (request: IdempotentRequest): string =>
  `${request.actor.id} ${request.actor.scope.only ?? ''} ${storedKey(request)}`;

/** The row of a request's key. */
const rowOf = ({ responseEncryption, clock, idempotencyHours }: Deps, request: IdempotentRequest) => {
  const { actor, operation, input } = request;
  const { onReplay } = request.idempotencyKey;
  const key = storedKey(request);
  /** 0: not confined. */
  const confinedTo = actor.scope.only ?? 0;
  const context = contextOf(request);
  /** Keys contain no space. */
  const checkpointContext = `${context} checkpoint`;
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  const fingerprint = responseEncryption.fingerprint(`${operation} ${text}`);
  /** Responses that were stored before this time are no longer repeated. */
  const expiredAt = () => new Date(clock.now().getTime() - idempotencyHours * HOUR_MS);

  const updateRow = (em: Em) =>
    kysely(em)
      .updateTable('idempotent_responses')
      .where('user_id', '=', actor.id)
      .where('confined_to', '=', confinedTo)
      .where('key', '=', key);

  const read = (em: Em) =>
    kysely(em)
      .selectFrom('idempotent_responses')
      .select(['fingerprint', 'response', 'checkpoint'])
      .select(['is_superuser', 'is_staff', 'admin_of', 'client_roles'])
      .where('user_id', '=', actor.id)
      .where('confined_to', '=', confinedTo)
      .where('key', '=', key)
      .where('created_at', '>', expiredAt())
      .executeTakeFirst();

  /**
   * The response shows data that the roles of that time could see, and does not record which roles it depends on. Only roles count that
   * allow mutations, or that can see the responses of mutations.
   * @throws Problem `idempotency-key-reused`, `forbidden`
   */
  const readSame = async (em: Em) => {
    const stored = await read(em);
    if (!stored) return null;
    if (stored.fingerprint !== fingerprint) throw new Problem('idempotency-key-reused');
    if (!canAllOf(actor, rolesOf(stored))) throw new Problem('forbidden', ROLES_LOST);
    return stored;
  };

  const open = async (response: Uint8Array | null): Promise<string> => {
    if (response === null) throw new Error('no response stored for a committed idempotency key');
    onReplay();
    return responseEncryption.open(response, context);
  };

  /**
   * Returns the content stored for the key, or claims the key for this transaction and returns null.
   * @throws Problem `idempotency-key-reused`, `forbidden`
   */
  const claim = async (tx: Em) => {
    const { is_superuser, is_staff, admin_of, client_roles } = roleFieldsOf(actor);
    const claimed = await sql`
      insert into idempotent_responses (user_id, confined_to, key, fingerprint, created_at, is_superuser, is_staff,
        admin_of, client_roles)
      values (${actor.id}, ${confinedTo}, ${key}, ${fingerprint}, ${clock.now()}, ${is_superuser}, ${is_staff},
        ${[...admin_of]}::int[], ${JSON.stringify(client_roles)}::jsonb)
      on conflict (user_id, confined_to, key) do update
        set fingerprint = excluded.fingerprint, created_at = excluded.created_at, response = null, checkpoint = null,
          is_superuser = excluded.is_superuser, is_staff = excluded.is_staff, admin_of = excluded.admin_of,
          client_roles = excluded.client_roles
        where idempotent_responses.created_at <= ${expiredAt()}
      returning 1`.execute(kysely(tx));
    if (claimed.rows.length > 0) return null;
    const stored = await readSame(tx);
    // The row was pruned or has expired since the insert: the client may retry.
    if (!stored) throw new Problem('overloaded');
    return stored;
  };

  return {
    readSame,
    open,
    claim,

    store: async (tx: Em, response: string): Promise<void> => {
      const sealed = await responseEncryption.seal(response, context);
      await updateRow(tx).set({ response: sealed }).execute();
    },

    /**
     * Claims the key and stores the plan of the request. If an earlier request has stored something, returns its plan, or its response if
     * it is finished.
     */
    openPlan: async <P>(
      tx: Em,
      begin: (tx: Em) => Promise<P>,
    ): Promise<{ plan: P } | { response: string }> => {
      const stored = await claim(tx);
      if (stored?.checkpoint) {
        const plan: P = parseJson(await responseEncryption.open(stored.checkpoint, checkpointContext));
        return { plan };
      }
      if (stored) return { response: await open(stored.response) };
      const plan = await begin(tx);
      const checkpoint = await responseEncryption.seal(JSON.stringify(plan), checkpointContext);
      await updateRow(tx).set({ checkpoint }).execute();
      return { plan };
    },

    /** Stores the response, unless another instance has finished the same request before: then returns its response. */
    finish: async (em: Em, response: string): Promise<string> => {
      const sealed = await responseEncryption.seal(response, context);
      const { numUpdatedRows } = await updateRow(em)
        .set({ response: sealed, checkpoint: null })
        .where('fingerprint', '=', fingerprint)
        .where('checkpoint', 'is not', null)
        .executeTakeFirst();
      if (numUpdatedRows > 0n) return response;
      const first = await read(em);
      // The row is missing if it has expired since, or if the actor was erased.
      return first?.fingerprint === fingerprint && first.response ? open(first.response) : response;
    },
  };
};

const ROLES_LOST = {
  detail:
    'You have lost a role since this Idempotency-Key was used, so its response is no longer available to you.',
};
