import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Browser, Context } from '../../../routers/context.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import { createTimeLimit } from '../../lib/time-limit.ts';
import type { Actor } from '../../services/access/actor.ts';
import type { Origin } from '../../services/audit/audit.ts';
import type { IdempotencyKey } from '../../services/idempotency/idempotency.ts';
import type { ServiceFactories } from '../../services/index.ts';
import { isQuery, isTrpcPath, proceduresInPath } from '../trpc/trpc-protocol.ts';
import { preconditionOf } from './conditional-requests.ts';
import {
  CSRF_HEADER,
  type Csrf,
  openCookie,
  readSession,
  readToken,
  refuseCrossSite,
  unauthenticated,
} from './credentials.ts';

export type ContextDeps = ServiceFactories & {
  /** Limit of each call, and of the lookup of its caller. */
  timeLimitMs: number;
  baseUrl: string;
  sessionMaxDays: number;
  /** URL template of an app, with `{slug}` or `{id}`. */
  appUrl: string;
  csrf: Csrf;
};

const DAY_MINUTES = 24 * 60;
/** The longest address: IPv6 with an embedded IPv4 address. */
const MAX_ADDRESS_LENGTH = 45;
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
/** A body may take a minute to arrive. Meanwhile, the caller may lose a role or all access. */
const MAX_LOOKUP_AGE_MS = 1_000;

export const isHttps = (baseUrl: string): boolean => baseUrl.startsWith('https:');

const NO_STREAM = {
  detail: 'A streamed response cannot set the session cookie. Use a link that does not stream.',
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether an unsafe request changes nothing, so that pages of other sites may send it. */
    onlyRedirects?: boolean;
  }
}

/**
 * Refuses unsafe requests with a session cookie that a page of another site caused, even on public endpoints.
 * @throws Problem `cross-site`
 */
export const refuseCrossSiteSessions = (app: Pick<FastifyInstance, 'addHook'>, baseUrl: string): void => {
  app.addHook('onRequest', (request, _reply, done) => {
    if (SAFE_METHODS.has(request.method) || request.routeOptions.config.onlyRedirects) return done();
    if (readSession(request, isHttps(baseUrl)) !== null) refuseCrossSite(request);
    done();
  });
};

/**
 * The context of a request. Hooks, procedures and the calls of a batch share it, so that the caller is looked up once, and again
 * after a slow body.
 */
export const contextOf = (request: FastifyRequest, deps: ContextDeps): Context => {
  request.state.context ??= newContext(request, deps);
  return request.state.context;
};

const newContext = (request: FastifyRequest, deps: ContextDeps): Context => {
  const origin = originOf(request);
  const calls = isTrpcPath(request.url) ? proceduresInPath(request.url) : null;
  const callCount = calls?.length ?? 1;
  // Pages of other sites cannot read responses, so queries need no CSRF token, even by POST.
  const isSafe = SAFE_METHODS.has(request.method) || (calls?.every(isQuery) ?? false);
  let caller: Promise<Actor | null> | undefined;
  let actor: Promise<Actor | null> | undefined;
  const context: Context = {
    openServices: (confirmBeforeCommit) => deps.openServices(origin, confirmBeforeCommit),
    inTransaction: (work, confirmBeforeCommit) => deps.inTransaction(origin, work, confirmBeforeCommit),
    recordUse: deps.recordUse,
    timeLimitMs: deps.timeLimitMs,
    findActor: ({ isFresh } = { isFresh: false }) => {
      if (isFresh) request.state.caller = null;
      const found = lookUpCaller(request, deps);
      // The calls of a batch share the check, so that a refusal is recorded once.
      if (!actor || found !== caller) {
        caller = found;
        actor = found.then((user) => checkCaller(request, user, { ...deps, isSafe }));
      }
      return actor;
    },
    unauthenticated: () => unauthenticated(request, isHttps(deps.baseUrl)),
    browser: browserOf(request, deps),
    idempotencyKey: () => readIdempotencyKey(request, callCount),
    precondition: () => preconditionOf(request, callCount, context),
    setPagination: (pagination) => {
      request.state.pagination = pagination;
    },
    baseUrl: deps.baseUrl,
    appUrl: deps.appUrl,
    host: request.host.toLowerCase(),
  };
  return context;
};

/** A string as in the header's draft, in quotes; most clients omit the quotes. */
const IDEMPOTENCY_KEY = /^("?)([\x21\x23-\x7e]{1,255})\1$/;

/**
 * Refuses a key on a batch, whose calls would count as repeats of each other.
 * @throws Problem `invalid-input`
 */
const readIdempotencyKey = (request: FastifyRequest, callCount: number): IdempotencyKey | null => {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return null;
  const key = IDEMPOTENCY_KEY.exec(String(header))?.[2];
  if (key === undefined) throw invalidKey('Must be 1 to 255 visible ASCII characters without quotes inside.');
  if (callCount > 1) throw invalidKey('Must not be sent with a batch. Send this call alone.');
  return { key, onReplay: () => request.state.reply.header('idempotency-replayed', 'true') };
};

const invalidKey = (message: string) => invalid({ 'Idempotency-Key': [message] });

const originOf = (request: FastifyRequest): Origin => ({
  requestId: request.id,
  address: addressOf(request),
});

/**
 * The address of the caller. A trusted proxy may forward any text, and after a disconnect, Fastify has no address, contrary to its type.
 */
export const addressOf = ({ ip = '' }: { ip?: string }): string =>
  ip.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, MAX_ADDRESS_LENGTH);

/**
 * Finds the caller by token or session, or null. Hooks and procedures share the lookup, which is repeated after a slow body.
 * Does not check for cross-site requests: `findActor` does.
 */
export const lookUpCaller = (request: FastifyRequest, deps: ContextDeps): Promise<Actor | null> => {
  const { state } = request;
  if (!state.caller || performance.now() - state.caller.lookedUpAt > MAX_LOOKUP_AGE_MS) {
    const authentication = deps.openAuthentication(originOf(request));
    const token = readToken(request);
    const session = readSession(request, isHttps(deps.baseUrl));
    const lookUp = async () => {
      if (token !== null) return authentication.findByToken(token);
      return session === null ? null : authentication.findBySession(session);
    };
    state.caller = {
      actor: createTimeLimit(deps.timeLimitMs).run(lookUp),
      lookedUpAt: performance.now(),
    };
  }
  return state.caller.actor;
};

/**
 * Browsers send the session cookie with requests of other sites too, so an unsafe request needs a CSRF token.
 * @throws Problem `csrf-failed`, `cross-site`
 */
const checkCaller = async (
  request: FastifyRequest,
  actor: Actor | null,
  { csrf, openServices, isSafe }: ContextDeps & { isSafe: boolean },
): Promise<Actor | null> => {
  request.state.userId = actor?.id;
  if (!actor || isSafe || readToken(request) !== null) return actor;
  try {
    csrf.check(request);
  } catch (error) {
    const { refusals } = openServices(originOf(request));
    if (error instanceof Problem)
      await refusals.record(actor, `${request.method} ${request.routeOptions.url}`, error);
    throw error;
  }
  return actor;
};

const browserOf = (request: FastifyRequest, { baseUrl, sessionMaxDays, csrf }: ContextDeps): Browser => {
  const secure = isHttps(baseUrl);
  const isStreamed = request.headers['trpc-accept'] === 'application/jsonl';
  const session = openCookie(request, 'session', secure);
  const passkey = openCookie(request, 'passkey', secure);
  const challenge = openCookie(request, 'challenge', secure);
  return {
    userAgent: request.headers['user-agent'] ?? '',
    session: readSession(request, secure),
    challenge,
    passkey: { ...passkey, forget: () => !isStreamed && passkey.forget() },
    sso: openCookie(request, 'sso', secure),
    prepareLogin: () => {
      refuseCrossSite(request);
      if (isStreamed) throw new Problem('not-acceptable', NO_STREAM);
    },
    keepSession: (secret) => {
      // Ends a login that waited in this browser, even for another account.
      if (challenge.value !== null) challenge.forget();
      session.keep(secret, sessionMaxDays * DAY_MINUTES);
      const { reply } = request.state;
      const token = csrf.renew(reply, secret);
      // Clients do not read cookies.
      reply.header(CSRF_HEADER, token);
      return token;
    },
    forgetSession: session.forget,
  };
};
