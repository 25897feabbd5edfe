import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import type { Credential } from '../../services/access/actor.ts';
import type { Allowance, RequestLimits } from '../../services/rate-limits/request-limits.ts';
import { isTrpcPath, proceduresInPath } from '../trpc/trpc-path.ts';
import { readSession, readToken } from './credentials.ts';
import { addressOf, type ContextDeps, isHttps } from './request-context.ts';

/** Health, and files that are the same for everybody. */
const UNCOUNTED = /^\/(healthz|readyz|avatars|docs)(\/|\?|$)/;
/** Credentials remembered at a time. */
const MAX_KNOWN = 20_000;

const TOO_MANY_AT_ONCE = {
  detail: 'This batch has more calls than are allowed in a minute: send fewer at once.',
};

type Deps = Pick<ContextDeps, 'openServices' | 'baseUrl'> & { limits: RequestLimits };

/**
 * Holds each caller to a number of requests a minute, and says on every answer what is left
 * (draft-ietf-httpapi-ratelimit-headers-10). Each call of a batch counts.
 */
export const limitRequestRate = (app: Pick<FastifyInstance, 'addHook'>, { limits, ...deps }: Deps): void => {
  const credentialOf = createCredentials(deps);
  const policy = `"default";q=${limits.limit};w=${limits.windowSeconds}`;
  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'OPTIONS' || UNCOUNTED.test(request.url)) return;
    const calls = isTrpcPath(request.url) ? proceduresInPath(request.url).length : 1;
    const caller = { via: await credentialOf(request), address: addressOf(request) };
    const allowance = await limits.take(caller, calls);
    reply.header('ratelimit-policy', policy).header('ratelimit', headerOf(allowance));
    if (allowance.isGranted) return;
    const tooMany = calls > limits.limit ? TOO_MANY_AT_ONCE : {};
    throw new Problem('rate-limited', { ...tooMany, retryAfterSeconds: allowance.resetSeconds });
  });
};

const headerOf = ({ remaining, resetSeconds }: Allowance): string =>
  `"default";r=${remaining};t=${resetSeconds}`;

/**
 * The good credential of a request, or null. It is looked up once and then remembered, good or not: who is over the limit
 * is refused without a question. Bad ones are not: whoever makes them up counts as anybody at their address.
 */
const createCredentials = ({ openServices, baseUrl }: Omit<Deps, 'limits'>) => {
  const known = new Map<string, Credential>();

  const lookUp = async (request: FastifyRequest, token: string | null, session: string) => {
    const { identity } = openServices({ requestId: request.id, address: addressOf(request) });
    // While the database is away the address will do: the route says for itself what it cannot do.
    const actor = await (token === null ? identity.ofSession(session) : identity.ofToken(token)).catch(
      (_away: unknown) => null,
    );
    return actor?.credential ?? null;
  };

  return async (request: FastifyRequest): Promise<Credential | null> => {
    const token = readToken(request);
    const secret = token ?? readSession(request, isHttps(baseUrl));
    if (secret === null) return null;
    const digest = createHash('sha256')
      .update(`${token === null ? 'session' : 'token'} ${secret}`)
      .digest('base64');
    const remembered = known.get(digest);
    if (remembered) return remembered;

    const credential = await lookUp(request, token, secret);
    if (credential) {
      const [oldest] = known.size >= MAX_KNOWN ? known.keys() : [];
      if (oldest !== undefined) known.delete(oldest);
      known.set(digest, credential);
    }
    return credential;
  };
};
