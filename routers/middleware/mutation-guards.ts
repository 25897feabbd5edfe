import { canonicalJson } from '../../src/lib/canonical-json.ts';
import { invalid } from '../../src/lib/problems.ts';
import type { Actor } from '../../src/services/access/actor.ts';
import type { IdempotentRequest } from '../../src/services/idempotency/idempotency.ts';
import type { Services } from '../../src/services/index.ts';
import type { Context, Precondition } from '../context.ts';
import { answerText } from './response-serializer.ts';

/** What a mutation says of itself for the conditions that a caller may set. */
export type GuardMeta = {
  /** The query that shows what this changes or makes, and gives what this answers. */
  resource?: keyof Services['resourceLocks'];
  /** Its service sees to the idempotency key, since it must not begin in a transaction. */
  handlesIdempotency?: boolean;
};

type Outcome = { ok: true; data: unknown } | { ok: false; error: unknown };

type Call<R extends Outcome> = {
  ctx: Context & { services: Services };
  actor: Actor;
  /** Procedure path: `users.update`. */
  path: string;
  /** Whether it changes something that was there before. */
  isChange: boolean;
  meta: GuardMeta;
  rawInput: () => Promise<unknown>;
  proceed: (services: Services) => Promise<R>;
};

/**
 * Calls a mutation under what the caller's headers demand: once for each idempotency key, and only while what it
 * changes is what the caller has seen. Either is settled in the transaction of the work itself.
 * @throws Problem `idempotency-key-reused`, `precondition-failed`, `invalid-input`
 */
export const withMutationGuards = async <R extends Outcome>(call: Call<R>): Promise<R> => {
  const { ctx, actor, meta, proceed } = call;
  const precondition = ctx.precondition();
  const once = meta.handlesIdempotency ? null : ctx.idempotencyKey();
  const settled = precondition ? (services: Services) => demand(call, precondition, services) : proceed;
  if (!once) return precondition ? ctx.inTransaction(settled) : proceed(ctx.services);

  const request = { once, operation: call.path, input: canonicalJson(await call.rawInput()) };
  return ctx.services.idempotency.inTurn(actor, once, () =>
    ctx.inTransaction((services) => doOnce(actor, request, services, settled)),
  );
};

const doOnce = async <R extends Outcome>(
  actor: Actor,
  request: IdempotentRequest,
  services: Services,
  work: (services: Services) => Promise<R>,
): Promise<R> => {
  const first = await services.idempotency.claim(actor, request);
  // All of it that tRPC looks at; the rest stands in its type alone.
  if (first !== null) return { ok: true, data: answerText.read(first) } as R;
  const result = committed(await work(services));
  await services.idempotency.keep(actor, request.once, answerText.write(result.data));
  return result;
};

const demand = async <R extends Outcome>(
  { actor, isChange, meta, rawInput, proceed }: Call<R>,
  { header, resolveResource: resource }: Precondition,
  services: Services,
): Promise<R> => {
  if (!isChange || !meta.resource)
    throw invalid({ [header]: ['Is not taken here: there is no ETag of what this changes.'] });
  const { key, check: demand } = resource(meta.resource, await rawInput());
  await services.resourceLocks[meta.resource](actor, key);
  await demand(actor, services);
  return committed(await proceed(services));
};

/** tRPC never rejects: a failure has to be thrown for the transaction to be taken back. */
const committed = <R extends Outcome>(result: R): R & { ok: true; data: unknown } => {
  if (!result.ok) throw result.error;
  return result as R & { ok: true; data: unknown }; // what was just asked
};
