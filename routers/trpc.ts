import { initTRPC } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import type { Em } from '../src/db/kysely.ts';
import { isFault, type Problem, roleRequired } from '../src/lib/problems.ts';
import { type Outcome, telemetry } from '../src/lib/telemetry.ts';
import { createTimeLimit } from '../src/lib/time-limit.ts';
import { tracing } from '../src/lib/tracing.ts';
import { scopesOf } from '../src/services/access/action-scopes.ts';
import { type Actor, requireAccount, requireUnconfined } from '../src/services/access/actor.ts';
import { type Action, can, rolesThatMay } from '../src/services/access/permissions.ts';
import { requireScope } from '../src/services/access/scope.ts';
import { confirmActor } from '../src/services/auth/authentication.ts';
import type { Services } from '../src/services/index.ts';
import type { Context } from './context.ts';
import { problemOf, trpcErrorOf } from './middleware/errors.ts';
import { type MiddlewareResult, withMutationGuards } from './middleware/mutation-guards.ts';
import { matchedQueryOf, type ProcedureMeta, type Reach } from './procedure-meta.ts';
import { transformer } from './schemas/transformer.ts';

/** Interval of heartbeats in streams: below the timeouts of proxies, such as 60 s. */
const HEARTBEAT_MS = 15_000;

const t = initTRPC
  .context<Context>()
  .meta<OpenApiMeta<ProcedureMeta>>()
  .create({
    transformer,
    isDev: false,
    sse: {
      ping: { enabled: true, intervalMs: HEARTBEAT_MS },
      client: { reconnectAfterInactivityMs: 3 * HEARTBEAT_MS },
    },
    // Messages of other errors may contain text of libraries. Messages of a Problem are written for callers.
    errorFormatter: ({ shape, error }) => {
      const { code, status, message, fields, retryAfterSeconds } = problemOf(error);
      const problem = { code, fields, retryAfterSeconds };
      return { ...shape, message, data: { ...shape.data, httpStatus: status, problem } };
    },
  });

export const { router, createCallerFactory } = t;

/**
 * Converts every failure into a problem. `next()` never rejects, so its result is inspected.
 */
const withProblems = async <R extends MiddlewareResult>(
  procedure: string,
  call: () => Promise<R>,
  onRefusal?: (problem: Problem) => Promise<void>,
): Promise<R> => {
  const startedAt = performance.now();
  const span = tracing.start(() => ({
    name: procedure,
    attributes: { 'rpc.system.name': 'trpc', 'rpc.method': procedure },
  }));
  const report = (outcome: Outcome, isFault = false): void => {
    telemetry.procedure.publish(() => ({
      procedure,
      outcome,
      seconds: (performance.now() - startedAt) / 1000,
    }));
    span?.end({ attributes: { 'steward.outcome': outcome }, error: isFault ? outcome : undefined });
  };
  const fail = async (error: unknown): Promise<never> => {
    const problem = problemOf(error);
    if (isRefusal(problem)) await onRefusal?.(problem);
    report(problem.code, isFault(problem));
    throw trpcErrorOf(problem);
  };
  const result = await (span ? span.run(call) : call()).catch(fail);
  if (!result.ok) return fail(result.error);
  report('ok');
  return result;
};

const isRefusal = ({ status, code }: Problem): boolean =>
  status === 403 && code !== 'reauthentication-required';

/** Runs after the transaction of the refused call has ended, so it is not rolled back with that transaction. */
const createRefusalRecorder = (context: Context, path: string) => async (problem: Problem) => {
  const actor = await context.findActor().catch(() => null);
  if (!actor) return;
  await context.openServices().refusals.record(actor, path, problem);
};

/** Fails calls that take too long, and reports the outcome of each. Work that still runs cannot commit any more. */
const withTimeLimit = (recordsRefusals: boolean) =>
  t.middleware(({ ctx, next, path }) => {
    const timeLimit = createTimeLimit(ctx.timeLimitMs);
    const call = () => timeLimit.run(() => next({ ctx: { timeLimit } }));
    return withProblems(path, call, recordsRefusals ? createRefusalRecorder(ctx, path) : undefined);
  });

/** Requires no credentials, and ignores sent ones. */
export const publicProcedure = t.procedure
  .meta({ isPublic: true })
  .use(withTimeLimit(false))
  .use(({ ctx, next }) =>
    next({ ctx: { services: ctx.openServices(async () => ctx.timeLimit.requireTime()) } }),
  );

/**
 * Requires the scopes of a call, and records that the token of its caller was used for it.
 * @throws Problem `insufficient-scope`
 */
const admit = (ctx: Context, actor: Actor, path: string, type: Parameters<typeof scopesOf>[1]): void => {
  const needed = scopesOf(path, type);
  requireScope(actor.scope, ...needed);
  ctx.recordUse(actor, path, needed);
};

/** @param roles the roles that `isAllowed` accepts, for the message of the problem */
const procedureFor = (reach: Reach, isAllowed: (actor: Actor) => boolean = () => true, roles = '') =>
  t.procedure
    .meta({ reach })
    .use(withTimeLimit(true))
    // One middleware, because tRPC copies the context for each that adds to it.
    .use(async ({ ctx, next, type, path, meta, getRawInput: rawInput }) => {
      const actor = await ctx.findActor();
      if (!actor) throw ctx.unauthenticated();
      admit(ctx, actor, path, type);
      if (meta?.reach === 'account') requireAccount(actor);
      else if (meta?.reach !== 'client') requireUnconfined(actor);
      if (!isAllowed(actor)) throw roleRequired(roles);
      const proceed = (services: Services) => next({ ctx: { actor, services } });
      if (type !== 'mutation') return proceed(ctx.openServices());
      const confirmBeforeCommit = async (tx: Em) => {
        const credential = meta?.rest?.mayRevokeOwnCredential ? null : actor.credential;
        await confirmActor(tx, { ...actor, credential });
        // Last, because `confirmActor` may wait for a lock.
        ctx.timeLimit.requireTime();
      };
      return withMutationGuards({
        ctx: { ...ctx, actor },
        path,
        meta: meta?.rest ?? {},
        matchedQuery: matchedQueryOf(meta?.openapi?.method, meta?.rest),
        rawInput,
        confirmBeforeCommit,
        proceed,
      });
    });

/** For actions of all users in their clients. */
export const memberProcedure = procedureFor('client');
/** For actions of all users on their own account as a whole, so not in a session that is confined to a client. */
export const accountProcedure = procedureFor('account');

/**
 * For queries by which a front end finds out whether someone is logged in: for visitors, the actor is null. REST answers visitors with 401.
 */
export const visitorProcedure = t.procedure
  .meta({ reach: 'client' })
  .use(withTimeLimit(true))
  .use(async ({ ctx, next, type, path }) => {
    const actor = await ctx.findActor();
    if (actor) admit(ctx, actor, path, type);
    return next({ ctx: { actor, services: ctx.openServices() } });
  });

/** Requires a role that allows one of the actions in some client. The service checks the client of the call. */
export const allowedTo = (reach: Reach, ...actions: readonly Action[]) => {
  const role = rolesThatMay(...actions);
  const mayCall = (actor: Actor): boolean => actions.some((action) => can(actor, action));
  return procedureFor(reach, mayCall, role).meta({ role, mayCall });
};

/** Lists users, clients and usage. */
export const viewerProcedure = allowedTo('client', 'view');
/** These make changes, and read data that only callers who make these changes may see. See `Action`. */
export const peopleProcedure = allowedTo('client', 'manage-people');
export const grantProcedure = allowedTo('client', 'manage-grants');
export const accessProcedure = allowedTo('client', 'manage-people', 'manage-grants');
export const credentialProcedure = allowedTo('client', 'manage-credentials');
export const appProcedure = allowedTo('client', 'manage-apps');
export const settingsProcedure = allowedTo('client', 'configure');
/** Fetches and loads apps: staff and superusers. */
export const staffProcedure = allowedTo('installation', 'operate');
export const superuserProcedure = allowedTo('installation', 'administer');
