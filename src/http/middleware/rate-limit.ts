import type { FastifyInstance } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import { telemetry } from '../../lib/telemetry.ts';
import type { Allowance, RequestLimits } from '../../services/rate-limits/request-limits.ts';
import { isTrpcPath, proceduresInPath } from '../trpc/trpc-protocol.ts';
import { addressOf, type ContextDeps, lookUpCaller } from './request-context.ts';

/** Health checks, static files and public keys. */
const UNLIMITED_PATHS = /^\/(healthz|readyz|api\/v1\/status|avatars|docs|\.well-known)(\/|\?|$)/;

const BATCH_TOO_LARGE = {
  detail: 'This batch has more calls than the limit per minute. Send fewer calls at once.',
};

type Deps = ContextDeps & { limits: RequestLimits };

/**
 * Limits the requests per minute of each token and session, and of each address without a valid one. Each call of a batch
 * counts. Sets the remaining number on every response (draft-ietf-httpapi-ratelimit-headers-10).
 */
export const limitRequestsByCaller = (
  app: Pick<FastifyInstance, 'addHook'>,
  { limits, ...deps }: Deps,
): void => {
  const policy = `"default";q=${limits.limit};w=${limits.windowSeconds}`;
  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'OPTIONS' || UNLIMITED_PATHS.test(request.url)) return;
    const calls = isTrpcPath(request.url) ? proceduresInPath(request.url).length : 1;
    // If the database is unavailable, the caller is limited by address, and the route itself reports the failure.
    const actor = await lookUpCaller(request, deps).catch((_unavailable: unknown) => null);
    const caller = { credential: actor?.credential ?? null, address: addressOf(request) };
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
