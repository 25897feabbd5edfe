import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context, Pagination } from '../../../routers/context.ts';
import type { Span } from '../../lib/tracing.ts';
import { startRequestSpan } from './request-span.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the first hook. */
    state: RequestState;
  }
}

/** What the service knows about a request. On the request itself, because a `WeakMap` would slow down garbage collection. */
type RequestState = {
  reply: FastifyReply;
  /** null without traces. */
  span: Span | null;
  context: Context | null;
  /** The caller's id, for the access log. Undefined until authenticated. */
  userId: number | undefined;
  /** Set if the response is a page of a list. */
  page: Pagination | undefined;
  /** The content type of the request: see `parseBodiesAsBuffers`. */
  mediaType: string;
};

export const addRequestState = (app: FastifyInstance): void => {
  app.decorateRequest('state');
  app.addHook('onRequest', (request, reply, done) => {
    const span = startRequestSpan(request, reply);
    request.state = {
      reply,
      span,
      context: null,
      userId: undefined,
      page: undefined,
      mediaType: '',
    };
    if (span) span.run(done);
    else done();
  });
  // Reading the body loses the async context of the first hook.
  app.addHook('preValidation', ({ state: { span } }, _reply, done) => {
    if (span) span.run(done);
    else done();
  });
};
