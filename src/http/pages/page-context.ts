import type { FastifyReply, FastifyRequest } from 'fastify';
import { createCaller } from '../../../routers/index.ts';
import { problemOf } from '../../../routers/middleware/errors.ts';
import type { Problem } from '../../lib/problems.ts';
import { readSession } from '../middleware/credentials.ts';
import { type ContextDeps, contextOf, isHttps } from '../middleware/request-context.ts';
import { hiddenField } from './fields.ts';
import type { Html } from './html.ts';

export type PageDeps = ContextDeps;
export type Caller = ReturnType<typeof createCaller>;
export type Visit = ReturnType<typeof visitOf>;

/** A request for a page, and what every page does with one. */
export const visitOf = (request: FastifyRequest, reply: FastifyReply, deps: PageDeps) => {
  const reader = readerOf(request, deps);
  // Asked once: a second token would take the first one's place in the cookie, and leave its form stale.
  let token: string | undefined;
  return {
    request,
    reply,
    /** For what a page shows. */
    reader,

    /** What every form carries, so that no page of another site can send it. */
    csrfField: (): Html => {
      token ??= deps.csrf.issue(request, reply);
      return hiddenField('csrf_token', token);
    },

    /** Does what a form asks for, once it has shown that it is one of ours. */
    submit: <T>(act: (caller: Caller) => Promise<T>): Promise<Outcome<T>> =>
      attempt(async () => {
        deps.csrf.check(request);
        return act(createCaller(contextOf(request, deps)));
      }),

    /** Who is logged in here, or null. */
    user: async () => {
      const { value } = await attempt(() => reader.sessions.current({}));
      return value?.user ?? null;
    },
  };
};

/**
 * Shows people their own things even where their form was refused: the common context knows nobody then, as it
 * would do what was asked for.
 */
const readerOf = (request: FastifyRequest, deps: PageDeps): Caller => {
  const context = contextOf(request, deps);
  const session = readSession(request, isHttps(deps.baseUrl));
  if (session === null || request.method !== 'POST') return createCaller(context);
  let actor: ReturnType<typeof context.authenticate> | undefined;
  return createCaller({
    ...context,
    authenticate: () => {
      actor ??= context.openServices().identity.ofSession(session);
      return actor;
    },
  });
};

export type Outcome<T> = { value: T; problem: null } | { value: null; problem: Problem };

/** The value, or the problem that the person can do something about. Whatever else goes wrong has a page of its own. */
export const attempt = async <T>(act: () => Promise<T>): Promise<Outcome<T>> => {
  try {
    return { value: await act(), problem: null };
  } catch (error) {
    const problem = problemOf(error);
    if (problem.status >= 500) throw error;
    return { value: null, problem };
  }
};

/** Whether a form was refused for what it is, not for what it says: nothing was done, and a new one will do. */
export const isStaleForm = (problem: Problem | null): boolean =>
  problem?.code === 'csrf-failed' || problem?.code === 'cross-site';
