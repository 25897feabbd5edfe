import { initTRPC } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import { type Problem, roleRequired } from '../src/lib/problems.ts';
import {
  type Actor,
  CHANGING_ROLES,
  canList,
  canManage,
  canOperate,
  LISTING_ROLES,
  OPERATING_ROLES,
} from '../src/services/access/actor.ts';
import type { Services } from '../src/services/index.ts';
import type { Context } from './context.ts';
import { problemOf, trpcErrorOf } from './middleware/errors.ts';
import { type GuardMeta, withMutationGuards } from './middleware/mutation-guards.ts';
import type { Prefetch } from './middleware/prefetch.ts';
import type { ItemWriter } from './schemas/streamed-items.ts';
import { transformer } from './schemas/transformer.ts';

/** Who may call a procedure, see below. */
export type Role = 'viewer' | 'admin' | 'staff' | 'superuser';

/** What a procedure, and its REST path, do that their OpenAPI meta has no word for. */
export type ProcedureMeta = {
  role?: Role;
  prefetch?: Prefetch;
  rest?: GuardMeta & {
    /** Status of success, 200 unless said otherwise. */
    status?: 200 | 201 | 204;
    /** The body may be one object or an array of them; the procedure takes and answers arrays under this key. */
    many?: string;
    /** The body as a whole is the procedure's input under this key. */
    body?: string;
    /** Input keys that are read from the query of an unsafe request. */
    query?: readonly string[];
    /** Takes form bodies too. */
    forms?: boolean;
    maxBodyBytes?: number;
    /** Content types on offer, first choice first. */
    responseTypes?: readonly string[];
    /** Answers JSON whatever the request's `Accept` header says. */
    jsonOnly?: boolean;
    /** How the items of a list are written, be it whole or page by page. */
    items?: ItemWriter;
    /** Keys of its answer that change by themselves: a writer who has seen other values of them has missed nothing. */
    volatileFields?: readonly string[];
    /** Not in the interface document: an addition of Steward's own. */
    extension?: boolean;
  };
};

const t = initTRPC
  .context<Context>()
  .meta<OpenApiMeta<ProcedureMeta>>()
  .create({
    transformer,
    isDev: false,
    // What tRPC says of its own accord may quote a library; what a Problem says is written for callers.
    errorFormatter: ({ shape, error }) => {
      const { code, status, message, fields, retryAfterSeconds } = problemOf(error);
      const problem = { code, fields, retryAfterSeconds };
      return { ...shape, message, data: { ...shape.data, httpStatus: status, problem } };
    },
  });

export const { router, createCallerFactory } = t;

type Outcome = { ok: true } | { ok: false; error: unknown };

/**
 * Turns every failure into a problem, once, at the outside: `next()` never rejects, so the result is asked. Each middleware
 * copies all that it is given; so there is one, and not one for each concern.
 */
const withProblems = async <R extends Outcome>(
  call: () => Promise<R>,
  onRefused?: (problem: Problem) => Promise<void>,
): Promise<R> => {
  const fail = async (error: unknown): Promise<never> => {
    const problem = problemOf(error);
    if (problem.status === 403 && problem.code !== 'reauthentication-required') await onRefused?.(problem);
    throw trpcErrorOf(problem);
  };
  const result = await call().catch(fail);
  return result.ok ? result : fail(result.error);
};

/** Recorded here, where the transaction of the refused call is over. */
const refusalRecorder = (context: Context, path: string) => async (problem: Problem) => {
  const actor = await context.authenticate().catch((_refused: unknown) => null);
  if (actor) await context.openServices().refusals.record(actor, path, problem);
};

const withServices = t.middleware(({ ctx, next }) =>
  withProblems(() => next({ ctx: { services: ctx.openServices() } })),
);

/** @param roles those that `may` accepts, as the refusal names them */
const withActor = (may: (actor: Actor) => boolean, roles = '') =>
  t.middleware(({ ctx: context, next, type, path, meta, getRawInput: rawInput }) => {
    const call = async () => {
      const caller = context.authenticate();
      const ctx = { ...context, services: context.openServices() };
      if (meta?.prefetch && context.canPrefetch(ctx.services)) meta.prefetch(ctx.services, rawInput);
      const actor = await caller;
      if (!actor) throw context.unauthenticated();
      if (!may(actor)) throw roleRequired(roles);
      const proceed = (services: Services) => next({ ctx: { actor, services } });
      if (type !== 'mutation') return proceed(ctx.services);
      const isChange = meta?.openapi?.method !== 'POST';
      return withMutationGuards({ ctx, actor, path, isChange, meta: meta?.rest ?? {}, rawInput, proceed });
    };
    return withProblems(call, refusalRecorder(context, path));
  });

/** No credentials needed, and none looked at. */
export const publicProcedure = t.procedure.use(withServices);
export const protectedProcedure = t.procedure.use(withActor(() => true));
const forRole = (role: Role, may: (actor: Actor) => boolean, roles: string) =>
  t.procedure.meta({ role }).use(withActor(may, roles));

/** May list people, clients and usage: client admins (of their own), staff and superusers. */
export const viewerProcedure = forRole('viewer', canList, LISTING_ROLES);
/** May change things: client admins (their own) and superusers. */
export const adminProcedure = forRole('admin', canManage, CHANGING_ROLES);
/** May fetch and load apps: staff and superusers. */
export const staffProcedure = forRole('staff', canOperate, OPERATING_ROLES);
export const superuserProcedure = forRole('superuser', (actor) => actor.isSuperuser, 'superuser');
