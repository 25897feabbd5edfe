import { parseJson } from '../../src/lib/exact-json.ts';
import { canonicalJson, isOpaque, opaque } from '../../src/lib/json-value.ts';
import { invalid, Problem } from '../../src/lib/problems.ts';
import type { Actor } from '../../src/services/access/actor.ts';
import type { ConfirmBeforeCommit, Services } from '../../src/services/index.ts';
import type { Context, Precondition } from '../context.ts';

/** How a mutation supports the headers `Idempotency-Key`, `If-Match` and `If-None-Match`. */
export type GuardMeta = {
  /** The query that returns the resource that the mutation creates or changes. */
  resourceQuery?: keyof Services['resourceLocks'];
  /**
   * The mutation must not start inside a transaction, for example because it waits for another server. Either its service handles the
   * idempotency key, or repeats change nothing.
   */
  handlesIdempotency?: boolean;
  /** The response contains secrets, such as recovery codes, and is not stored for an idempotency key. */
  isShownOnce?: boolean;
  /**
   * The mutation may revoke the token or session of the call itself, as a logout does. Other mutations fail if it was revoked meanwhile.
   */
  mayRevokeOwnCredential?: boolean;
};

/** What tRPC's `next()` resolves to. */
export type MiddlewareResult = { ok: true; data: unknown } | { ok: false; error: unknown };

type Call<R extends MiddlewareResult> = {
  ctx: Context & { actor: Actor };
  /** Procedure path: `users.update`. */
  path: string;
  matchedQuery: GuardMeta['resourceQuery'];
  meta: GuardMeta;
  rawInput: () => Promise<unknown>;
  confirmBeforeCommit: ConfirmBeforeCommit;
  proceed: (services: Services) => Promise<R>;
};

/**
 * Runs a mutation once per idempotency key, and only if the precondition of the request holds. Both are checked in the
 * transaction of the mutation.
 * @throws Problem `idempotency-key-reused`, `precondition-failed`, `invalid-input`
 */
export const withMutationGuards = async <R extends MiddlewareResult>(call: Call<R>): Promise<R> => {
  const { ctx, meta, confirmBeforeCommit, proceed } = call;
  const precondition = ctx.precondition();
  const idempotencyKey = meta.handlesIdempotency ? null : ctx.idempotencyKey();
  if (!idempotencyKey && !precondition) return proceed(ctx.openServices(confirmBeforeCommit));

  const run = precondition
    ? (services: Services) => proceedIfMatching(call, precondition, services)
    : proceed;
  if (!idempotencyKey) return ctx.inTransaction(run, confirmBeforeCommit);

  const input = canonicalJson(await call.rawInput());
  const request = { actor: ctx.actor, idempotencyKey, operation: call.path, input };
  const runOnce = async (services: Services): Promise<R> => {
    const stored = await services.idempotency.claim(request);
    if (stored !== null && meta.isShownOnce) throw new Problem('idempotency-key-reused', NOT_STORED);
    // tRPC reads these members only; the type has more.
    if (stored !== null) return { ok: true, data: responseJson.parse(stored) } as R;
    const result = throwIfFailed(await run(services));
    await services.idempotency.store(request, meta.isShownOnce ? '' : responseJson.stringify(result.data));
    return result;
  };
  const { idempotency } = ctx.openServices();
  return idempotency.oneAtATime(request, () => ctx.inTransaction(runOnce, confirmBeforeCommit));
};

const NOT_STORED = {
  detail:
    'This request was already carried out. Its response had secrets that are shown once, and was not stored. Get new ones with another Idempotency-Key.',
};

const proceedIfMatching = async <R extends MiddlewareResult>(
  { ctx: { actor }, matchedQuery, rawInput, proceed }: Call<R>,
  { header, check }: Precondition,
  services: Services,
): Promise<R> => {
  if (!matchedQuery) throw invalid({ [header]: ['Not supported here: this resource has no ETag.'] });
  await check(matchedQuery, await rawInput(), { actor, services });
  return throwIfFailed(await proceed(services));
};

/** `next()` never rejects. A failure must be thrown for the transaction to roll back. */
const throwIfFailed = <R extends MiddlewareResult>(result: R): R & { ok: true } => {
  if (!result.ok) throw result.error;
  return result as R & { ok: true }; // TypeScript does not narrow type parameters
};

/** Keys that no output has. An object with one of them represents a value that JSON lacks. */
const DATE = '\0date';
const FREE_FORM = '\0free-form';

/**
 * JSON of a procedure's response that preserves dates and opaque free-form data. Unlike superjson it does not record the path
 * of every date: a response may list ten thousand items.
 */
export const responseJson = {
  stringify: (response: unknown): string => JSON.stringify({ response }, tag),
  parse: (json: string): unknown => {
    const { response }: { response?: unknown } = parseJson(json);
    return untag(response);
  },
};

/** `value` of a date is already a string here; `this[key]` is still the date. */
function tag(this: Record<string, unknown>, key: string, value: unknown): unknown {
  if (typeof value === 'string') return this[key] instanceof Date ? { [DATE]: value } : value;
  // As a string, because its own keys may be any, including these.
  return isOpaque(value) ? { [FREE_FORM]: JSON.stringify(value) } : value;
}

/** In place: `JSON.parse` with a reviver keeps the source text of every value, which doubles the memory. */
const untag = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (DATE in value) return new Date(String(value[DATE]));
  if (FREE_FORM in value) return opaque(parseJson(String(value[FREE_FORM])));
  for (const [key, child] of Object.entries(value)) {
    const restored = untag(child);
    if (restored !== child) Object.assign(value, { [key]: restored });
  }
  return value;
};
