import type { TRPCError } from '@trpc/server';
import { fastifyRequestHandler } from '@trpc/server/adapters/fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { appRouter } from '../../../routers/index.ts';
import { problemOf } from '../../../routers/middleware/errors.ts';
import { requireRole } from '../../../routers/procedure-meta.ts';
import type { Clock } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import { MAX_BATCH_SIZE } from '../../lib/trpc-limits.ts';
import { hasLargeBody } from '../middleware/body-limits.ts';
import { type ContextDeps, contextOf } from '../middleware/request-context.ts';
import { logFault } from '../middleware/request-logger.ts';
import { REST_ENDPOINTS } from '../rest/endpoints.ts';
import { limitJsonComplexity } from '../rest/input.ts';
import { refuseOtherMethods } from '../rest/methods.ts';
import { challengeOf } from '../rest/problem-document.ts';
import { isProtected, metaOf, proceduresInPath, sendFetchResponses, sendTrpcError } from './trpc-protocol.ts';

type TrpcDeps = ContextDeps & { clock: Clock };

/**
 * Serves the procedures at `/trpc`. Only JSON is parsed: other sites can make a browser post a form without a preflight, so a form must not
 * reach a mutation.
 */
export const serveTrpc = async (app: FastifyInstance, deps: TrpcDeps): Promise<void> => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async (_request: unknown, text: string) => {
      limitJsonComplexity(text);
      return text;
    },
  );
  sendFetchResponses(app);
  app.setErrorHandler((error, _request, reply) => sendTrpcError(reply, error));
  authenticateLargeBodies(app, deps);
  const handler = (request: FastifyRequest, reply: FastifyReply) => handleRequest(request, reply, deps);

  // A wildcard, because the names of a full batch exceed the length limit of parameters.
  app.route({ method: ['GET', 'POST'], url: '/trpc/*', exposeHeadRoute: false, handler });
  refuseOtherMethods(app, ['/trpc/*']);
  // Called alone, a procedure has the body limit of its REST endpoint.
  for (const { procedure, rest, isAlias } of REST_ENDPOINTS) {
    if (rest.maxBodyBytes === undefined || isAlias) continue;
    app.post(`/trpc/${procedure}`, { bodyLimit: rest.maxBodyBytes, handler });
  }
};

/**
 * Authenticates before a large body is read, as REST does before every body. With a small body, tRPC reports the failure for each call of a
 * batch.
 * @throws Problem `unauthenticated`, and other problems of `findActor`
 */
const authenticateLargeBodies = (app: Pick<FastifyInstance, 'addHook'>, deps: ContextDeps): void => {
  app.addHook('onRequest', async (request) => {
    if (!hasLargeBody(request) || !proceduresInPath(request.url).every(isProtected)) return;
    const context = contextOf(request, deps);
    const actor = await context.findActor();
    if (!actor) throw context.unauthenticated();
    for (const name of proceduresInPath(request.url)) requireRole(metaOf(name), actor);
  });
};

const handleRequest = async (request: FastifyRequest, reply: FastifyReply, deps: TrpcDeps) => {
  refuseLongBatch(request.url);
  await fastifyRequestHandler({
    router: appRouter,
    req: request,
    res: reply,
    // tRPC decodes it.
    path: request.url.replace(/\?.*$/s, '').replace(/^\/trpc\//, ''),
    createContext: () => contextOf(request, deps),
    // A query whose input is too long for a URL can be sent by POST.
    allowMethodOverride: true,
    onError: ({ error, path }) => logFault(request, problemOf(error), { procedure: path }),
    responseMeta: ({ errors }) => ({ headers: headersFor(errors, deps.clock.now()) }),
  });
  return reply;
};

/** Runs before tRPC's own check, whose message does not include the limit. */
const refuseLongBatch = (url: string): void => {
  const count = proceduresInPath(url).length;
  if (count <= MAX_BATCH_SIZE) return;
  const detail = `A batch may contain at most ${MAX_BATCH_SIZE} calls, and this one has ${count}. Set maxItems of the batch link to ${MAX_BATCH_SIZE}.`;
  throw new Problem('malformed-request', { detail });
};

/**
 * `Date`, by the clock of the times in the body: browsers compare the times with it, because their own clocks may be minutes off. Also the
 * headers that HTTP requires for the statuses of the errors.
 */
const headersFor = (errors: readonly TRPCError[], now: Date): Headers => {
  const headers = new Headers({ date: now.toUTCString() });
  const problems = errors.map(problemOf);
  for (const challenge of problems.map(challengeOf))
    if (challenge !== null) headers.set('www-authenticate', challenge);
  const waits = problems.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  if (waits.length > 0) headers.set('retry-after', String(Math.max(...waits)));
  return headers;
};
