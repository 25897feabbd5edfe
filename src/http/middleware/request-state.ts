import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context, Pagination } from '../../../routers/context.ts';
import { type Span, tracing } from '../../lib/tracing.ts';
import type { Actor } from '../../services/access/actor.ts';
import { ROUTED_METHODS } from '../rest/methods.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `addRequestState`, the first hook. */
    state: RequestState;
  }
}

/** What the service knows about a request. Stored on the request itself: a `WeakMap` would slow down garbage collection. */
type RequestState = {
  reply: FastifyReply;
  /** null without traces. */
  span: Span | null;
  context: Context | null;
  /** The lookup of the caller, and its start on the clock of `performance.now()`. */
  caller: { actor: Promise<Actor | null>; lookedUpAt: number } | null;
  /** The caller's id, for the access log. Undefined until authenticated. */
  userId: number | undefined;
  /** Set if the response is a page of a list. */
  pagination: Pagination | undefined;
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
      caller: null,
      userId: undefined,
      pagination: undefined,
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

/**
 * Starts the span of a request, which ends with the response. It names the route, not the path, which contains addresses. Null without
 * traces.
 */
const startRequestSpan = (request: FastifyRequest, { raw: response }: FastifyReply): Span | null => {
  const span = tracing.startRequest(() => detailsOf(request), request.headers);
  // For a response that the caller aborts, only `close` is emitted.
  if (span) response.once('close', () => span.end(resultOf(response)));
  return span;
};

const detailsOf = (request: FastifyRequest) => {
  const { url: route } = request.routeOptions;
  // A caller may send any of the many methods that Node accepts.
  const method = ROUTED_METHODS.has(request.method) ? request.method : '_OTHER';
  const verb = method === '_OTHER' ? 'HTTP' : method;
  return {
    name: route === undefined ? verb : `${verb} ${route}`,
    kind: 'server',
    attributes: {
      'http.request.method': method,
      ...(route !== undefined && { 'http.route': route }),
      'url.scheme': request.protocol,
      'network.protocol.version': request.raw.httpVersion,
      'steward.request_id': request.id,
    },
  } as const;
};

const resultOf = ({ statusCode, writableFinished }: FastifyReply['raw']) => ({
  attributes: { 'http.response.status_code': statusCode },
  ...(!writableFinished && { error: 'aborted' }),
  ...(statusCode >= 500 && { error: String(statusCode) }),
});
