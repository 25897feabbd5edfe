import { fastifyRequestHandler } from '@trpc/server/adapters/fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { appRouter } from '../../routers/index.ts';
import { MAX_BATCH_SIZE } from '../core/limits.ts';
import { type ContextDeps, contextOf } from './request-context.ts';
import { restEndpoints } from './rest-endpoints.ts';

/**
 * Serves the procedures at `/trpc`. Only JSON is parsed: a form, which other sites can make a browser post
 * without asking, must not reach a mutation.
 */
export const serveRpc = async (app: FastifyInstance, deps: ContextDeps): Promise<void> => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) =>
    done(null, text),
  );

  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    await fastifyRequestHandler({
      router: appRouter,
      req: request,
      res: reply,
      path: decodeURIComponent(request.url.replace(/\?.*$/s, '').replace(/^\/trpc\//, '')),
      createContext: () => contextOf(request, deps),
      maxBatchSize: MAX_BATCH_SIZE,
    });
    return reply;
  };

  app.route({ method: ['GET', 'POST'], url: '/trpc/:path', handler });
  // A procedure with a large body of its own, called alone, may send as much as over REST.
  for (const { procedure, rest } of restEndpoints()) {
    if (rest.maxBodyBytes === undefined) continue;
    app.post(`/trpc/${procedure}`, { bodyLimit: rest.maxBodyBytes, handler });
  }
};
