import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context, Pagination } from '../../../routers/context.ts';
import { Deadline, withDeadline } from '../../lib/deadline.ts';
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
  deadline: Deadline;
  /** null without traces. */
  span: Span | null;
  context: Context | null;
  /** The caller's id, for the access log. Undefined until authenticated. */
  userId: number | undefined;
  /** Set if the response is a page of a list. */
  page: Pagination | undefined;
  /** The content type of the request: see `parseBodiesAsBuffers`. */
  mediaType: string;
  /** From `performance.now()`. */
  bodyStartedAt: number;
};

/** @param deadlineMs limits the database work of a request; the time that the body takes to arrive is not counted */
export const addRequestState = (app: FastifyInstance, deadlineMs: number): void => {
  app.decorateRequest('state');
  app.addHook('onRequest', (request, reply, done) => {
    const deadline = new Deadline(deadlineMs);
    const span = startRequestSpan(request, reply);
    request.state = {
      reply,
      deadline,
      span,
      context: null,
      userId: undefined,
      page: undefined,
      mediaType: '',
      bodyStartedAt: 0,
    };
    withDeadline(deadline, () => (span ? span.run(done) : done()));
  });
  app.addHook('preParsing', (request, _reply, payload, done) => {
    request.state.bodyStartedAt = performance.now();
    done(null, payload);
  });
  // Reading the body loses the async context of the first hook.
  app.addHook('preValidation', ({ state }, _reply, done) => {
    const { deadline, span } = state;
    deadline.extend(performance.now() - state.bodyStartedAt);
    withDeadline(deadline, () => (span ? span.run(done) : done()));
  });
};
