import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Browser, Context } from '../../../routers/context.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import type { Actor } from '../../services/access/actor.ts';
import type { Origin } from '../../services/audit/audit.ts';
import type { IdempotencyKey } from '../../services/idempotency/idempotency.ts';
import type { Services } from '../../services/index.ts';
import { idempotencyKeyOf } from '../rest/idempotency-key.ts';
import { preconditionOf } from '../rest/preconditions.ts';
import { readSession, readToken, sessionCookieName } from './credentials.ts';
import type { Csrf } from './csrf.ts';
import { refuseCrossSite } from './same-site.ts';

/** Runs the work in one transaction, which all that these services do is part of; a failure takes it back. */
export type InTransaction = <T>(origin: Origin, work: (services: Services) => Promise<T>) => Promise<T>;

export type ContextDeps = {
  openServices: (origin: Origin) => Services;
  inTransaction: InTransaction;
  baseUrl: string;
  sessionMaxDays: number;
  /** Where an app is opened, with `{slug}` or `{id}` in place of the app. */
  appUrl: string;
  csrf: Csrf;
};

const DAY_SECONDS = 24 * 3600;
/** Of an IPv6 address that ends as an IPv4 one: the longest there is. */
const MAX_ADDRESS_LENGTH = 45;
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

export const isHttps = (baseUrl: string): boolean => baseUrl.startsWith('https:');

const NO_STREAM = {
  detail: 'A streamed answer cannot log a browser in: call this by a link that does not stream.',
};

/**
 * Refuses what a page of another site made a browser with a session send, also where nobody asks who it is.
 * @throws Problem `cross-site`
 */
export const refuseCrossSiteSessions = (app: Pick<FastifyInstance, 'addHook'>, baseUrl: string): void => {
  app.addHook('onRequest', (request, _reply, done) => {
    if (SAFE_METHODS.has(request.method)) return done();
    if (readSession(request, isHttps(baseUrl)) !== null) refuseCrossSite(request);
    done();
  });
};

/** The calls of a request, several of which are a tRPC batch. */
type Calls = {
  count: number;
  /** Whether they only read, also when they are sent by POST. */
  areQueries: boolean;
};

/**
 * The one context of a request: hooks and procedure share it, so that the caller is looked up once; and so do all calls
 * of a batch.
 */
export const contextOf = (request: FastifyRequest, deps: ContextDeps, calls = ONE_CALL): Context => {
  request.state.context ??= newContext(request, deps, calls);
  return request.state.context;
};

const ONE_CALL: Calls = { count: 1, areQueries: false };

const newContext = (request: FastifyRequest, deps: ContextDeps, calls: Calls): Context => {
  const origin = { requestId: request.id, address: addressOf(request) };
  // Looking up the caller leaves nothing behind in a unit of work: the first call may have it.
  let unused: Services | null = null;
  const openServices = () => {
    const services = unused ?? deps.openServices(origin);
    unused = null;
    return services;
  };
  // What a query answers stays hidden from pages of other sites, by POST as by GET: it needs no CSRF token.
  const isSafe = calls.areQueries || SAFE_METHODS.has(request.method);
  let actor: Promise<Actor | null> | undefined;
  const context: Context = {
    openServices,
    inTransaction: (work) => deps.inTransaction(origin, work),
    authenticate: () => {
      if (!actor) {
        const services = openServices();
        unused = services;
        actor = authenticate(request, { ...deps, isSafe }, services);
      }
      return actor;
    },
    canPrefetch: ({ identity }) => {
      const secret = readToken(request) ?? readSession(request, isHttps(deps.baseUrl));
      return secret !== null && identity.sawAllLastTime(secret);
    },
    browser: browserOf(request, deps),
    idempotencyKey: () => readIdempotencyKey(request, calls.count),
    precondition: () => preconditionOf(request, calls.count, context),
    setPagination: (page) => {
      request.state.page = page;
    },
    baseUrl: deps.baseUrl,
    host: request.host.toLowerCase(),
  };
  return context;
};

/** One key for several calls would take them for repeats of each other; and links make batches by themselves. */
const readIdempotencyKey = (request: FastifyRequest, calls: number): IdempotencyKey | null => {
  const key = idempotencyKeyOf(request.headers);
  if (key === null) return null;
  if (calls > 1) throw invalid({ 'Idempotency-Key': ['Must not come with a batch: send this call alone.'] });
  return { key, replayed: () => request.state.reply.header('idempotency-replayed', 'true') };
};

/**
 * A proxy that is believed may still hand on any text as its caller's address; of a caller who has hung up Fastify
 * has none, whatever its types say.
 */
export const addressOf = ({ ip = '' }: { ip?: string }): string =>
  ip.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, MAX_ADDRESS_LENGTH);

/**
 * Browsers send the cookie of a session whoever makes them: what it asks for must come from a page of this service.
 * @throws Problem `csrf-failed`, `cross-site`
 */
const authenticate = async (
  request: FastifyRequest,
  { csrf, baseUrl, isSafe }: ContextDeps & { isSafe: boolean },
  { identity, refusals }: Services,
): Promise<Actor | null> => {
  const token = readToken(request);
  if (token !== null) return rememberUserId(request, await identity.ofToken(token));
  const session = readSession(request, isHttps(baseUrl));
  const actor = rememberUserId(request, session === null ? null : await identity.ofSession(session));
  if (!actor || isSafe) return actor;
  try {
    csrf.check(request);
  } catch (error) {
    if (error instanceof Problem)
      await refusals.record(actor, `${request.method} ${request.routeOptions.url}`, error);
    throw error;
  }
  return actor;
};

const rememberUserId = (request: FastifyRequest, actor: Actor | null): Actor | null => {
  request.state.userId = actor?.id;
  return actor;
};

const browserOf = (request: FastifyRequest, { baseUrl, sessionMaxDays, csrf }: ContextDeps): Browser => {
  const secure = isHttps(baseUrl);
  const cookie = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const;
  return {
    userAgent: request.headers['user-agent'] ?? '',
    session: readSession(request, secure),
    prepareLogin: () => {
      refuseCrossSite(request);
      if (request.headers['trpc-accept'] === 'application/jsonl')
        throw new Problem('not-acceptable', NO_STREAM);
    },
    keepSession: (secret) => {
      const reply = request.state.reply;
      reply.setCookie(sessionCookieName(secure), secret, { ...cookie, maxAge: sessionMaxDays * DAY_SECONDS });
      return csrf.renew(reply, secret);
    },
    forgetSession: () => {
      request.state.reply.clearCookie(sessionCookieName(secure), cookie);
    },
  };
};
