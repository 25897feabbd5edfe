import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import { telemetry } from '../../lib/telemetry.ts';
import type { Credential } from '../../services/access/actor.ts';
import type { Allowance, RequestLimits } from '../../services/rate-limits/request-limits.ts';
import { isTrpcPath, proceduresInPath } from '../trpc/trpc-protocol.ts';
import { readSession, readToken } from './credentials.ts';
import { addressOf, type ContextDeps, isHttps } from './request-context.ts';

/** Health checks, static files and public keys. */
const UNLIMITED_PATHS = /^\/(healthz|readyz|api\/v1\/status|avatars|docs|\.well-known)(\/|\?|$)/;
const MAX_CACHED_CREDENTIALS = 20_000;

const BATCH_TOO_LARGE = {
  detail: 'This batch has more calls than the limit per minute. Send fewer calls at once.',
};

type Deps = Pick<ContextDeps, 'openServices' | 'baseUrl'> & { limits: RequestLimits };

/**
 * Limits the requests of each caller per minute, and sets the remaining number on every response
 * (draft-ietf-httpapi-ratelimit-headers-10). Each call of a batch counts.
 */
export const limitRequestRate = (app: Pick<FastifyInstance, 'addHook'>, { limits, ...deps }: Deps): void => {
  const credentialOf = createCredentialCache(deps);
  const policy = `"default";q=${limits.limit};w=${limits.windowSeconds}`;
  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'OPTIONS' || UNLIMITED_PATHS.test(request.url)) return;
    const calls = isTrpcPath(request.url) ? proceduresInPath(request.url).length : 1;
    const caller = { credential: await credentialOf(request), address: addressOf(request) };
    const allowance = await limits.consume(caller, calls);
    reply.header('ratelimit-policy', policy).header('ratelimit', headerOf(allowance));
    if (allowance.isGranted) return;
    telemetry.rateLimit.publish(() => ({ calls }));
    const extras = calls > limits.limit ? BATCH_TOO_LARGE : {};
    throw new Problem('rate-limited', { ...extras, retryAfterSeconds: allowance.resetSeconds });
  });
};

const headerOf = ({ remaining, resetSeconds }: Allowance): string =>
  `"default";r=${remaining};t=${resetSeconds}`;

/**
 * Finds the valid credential of a request, or null. Valid credentials are cached, even after they expire, so that a caller over
 * the limit causes no query. Invalid ones are not cached: their callers are limited by address.
 */
const createCredentialCache = ({ openServices, baseUrl }: Omit<Deps, 'limits'>) => {
  const cache = new Map<string, Credential>();

  const lookUp = async (request: FastifyRequest, token: string | null, session: string) => {
    const { identity } = openServices({ requestId: request.id, address: addressOf(request) });
    // If the database is unavailable, the caller is limited by address, and the route itself reports the failure.
    const actor = await (token === null
      ? identity.findBySession(session)
      : identity.findByToken(token)
    ).catch((_unavailable: unknown) => null);
    return actor?.credential ?? null;
  };

  return async (request: FastifyRequest): Promise<Credential | null> => {
    const token = readToken(request);
    const secret = token ?? readSession(request, isHttps(baseUrl));
    if (secret === null) return null;
    const digest = createHash('sha256')
      .update(`${token === null ? 'session' : 'token'} ${secret}`)
      .digest('base64');
    const cached = cache.get(digest);
    if (cached) return cached;

    const credential = await lookUp(request, token, secret);
    if (credential) {
      const [oldest] = cache.size >= MAX_CACHED_CREDENTIALS ? cache.keys() : [];
      if (oldest !== undefined) cache.delete(oldest);
      cache.set(digest, credential);
    }
    return credential;
  };
};
