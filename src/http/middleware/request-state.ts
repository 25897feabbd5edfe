import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context, Pagination } from '../../../routers/context.ts';
import { Deadline, withDeadline } from '../../lib/deadline.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** There from the first hook on. */
    state: RequestState;
  }
}

/** What is known of a request that it has not sent. A `WeakMap` would be one more thing to go through with each collection of garbage. */
export type RequestState = {
  reply: FastifyReply;
  deadline: Deadline;
  context: Context | null;
  /** The caller's id, once looked up: for the access log. */
  userId: number | undefined;
  /** The page that the answer is, where it is one of a list. */
  page: Pagination | undefined;
  /** The content type as it was sent: see `takeOverBodies`. */
  mediaType: string;
  /** By `performance.now()`. */
  bodyStartedAt: number;
};

/** @param deadlineMs for all that a request asks of the database; the time that its body takes to arrive is not counted */
export const addRequestState = (app: FastifyInstance, deadlineMs: number): void => {
  app.decorateRequest('state');
  app.addHook('onRequest', (request, reply, done) => {
    const deadline = new Deadline(deadlineMs);
    request.state = {
      reply,
      deadline,
      context: null,
      userId: undefined,
      page: undefined,
      mediaType: '',
      bodyStartedAt: 0,
    };
    withDeadline(deadline, done);
  });
  app.addHook('preParsing', (request, _reply, payload, done) => {
    request.state.bodyStartedAt = performance.now();
    done(null, payload);
  });
  // Reading a body leaves the context that the first hook has set.
  app.addHook('preValidation', ({ state }, _reply, done) => {
    state.deadline.extend(performance.now() - state.bodyStartedAt);
    withDeadline(state.deadline, done);
  });
};
