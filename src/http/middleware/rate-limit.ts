import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import { MINUTE_MS } from '../../lib/clock.ts';
import { networkOf } from '../../lib/ip-networks.ts';
import { Problem } from '../../lib/problems.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { isTrpcPath, proceduresInPath } from '../trpc/trpc-protocol.ts';
import { addressOf, type ContextDeps, lookUpCaller } from './request-context.ts';

/** Health checks, static files and public keys are not limited. */
const UNLIMITED_PATHS = /^\/(healthz|readyz|api\/v1\/status|avatars|docs|\.well-known)(\/|\?|$)/;

/** Callers kept in memory. The one not seen for longest is dropped. */
const MAX_CALLERS = 20_000;

const BATCH_TOO_LARGE = {
  detail: 'This batch has more calls than the limit per minute. Send fewer calls at once.',
};

type Deps = ContextDeps & { perMinute: number };

/**
 * Limits the requests per minute of each token and session, and of each network without valid credentials, in this instance. Each call of a
 * batch counts. Sets the remaining number on every response (draft-ietf-httpapi-ratelimit-headers-10).
 */
export const limitRequestsByCaller = async (
  app: FastifyInstance,
  { perMinute, ...deps }: Deps,
): Promise<void> => {
  await app.register(rateLimit, { global: false, cache: MAX_CALLERS });
  const count = app.createRateLimit({
    max: perMinute,
    timeWindow: MINUTE_MS,
    keyGenerator: async (request) => {
      // If the database is unavailable, the caller is limited by address, and the route itself reports the failure.
      const actor = await lookUpCaller(request, deps).catch((_unavailable: unknown) => null);
      const credential = actor?.credential;
      return credential ? `${credential.kind}:${credential.id}` : `address:${networkOf(addressOf(request))}`;
    },
  });
  const policy = `"default";q=${perMinute};w=${MINUTE_MS / 1_000}`;

  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'OPTIONS' || UNLIMITED_PATHS.test(request.url)) return;
    const calls = isTrpcPath(request.url) ? proceduresInPath(request.url).length : 1;
    const isTooLarge = calls > perMinute;
    let counted = await count(request);
    for (let call = 1; call < calls && !isTooLarge; call += 1) counted = await count(request);
    if (counted.isAllowed) return;
    const { remaining, ttlInSeconds, isExceeded } = counted;
    reply
      .header('ratelimit-policy', policy)
      .header('ratelimit', `"default";r=${remaining};t=${ttlInSeconds}`);
    if (!isExceeded && !isTooLarge) return;
    telemetry.rateLimit.publish(() => ({ calls }));
    const extras = isTooLarge ? BATCH_TOO_LARGE : {};
    throw new Problem('rate-limited', { ...extras, retryAfterSeconds: ttlInSeconds });
  });
};
