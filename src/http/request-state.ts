import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context, ToldPage } from '../../routers/context.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** There from the first hook on. */
    state: RequestState;
  }
}

/** What is known of a request that it has not sent. A `WeakMap` would be one more thing to go through with each collection of garbage. */
export type RequestState = {
  reply: FastifyReply;
  context: Context | null;
  /** The caller's id, once looked up: for the access log. */
  userId: number | undefined;
  /** The page that the answer is, where it is one of a list. */
  page: ToldPage | undefined;
  /** The content type as it was sent: see `takeOverBodies`. */
  mediaType: string;
};

export const keepRequestStates = (app: FastifyInstance): void => {
  app.decorateRequest('state');
  app.addHook('onRequest', (request, reply, done) => {
    request.state = { reply, context: null, userId: undefined, page: undefined, mediaType: '' };
    done();
  });
};
