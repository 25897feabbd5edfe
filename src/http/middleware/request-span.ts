import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Span, tracing } from '../../lib/tracing.ts';

/** Others are recorded as `_OTHER`: a caller may send any of the many methods that Node knows. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Starts the span of a request, which ends with the response. It has the route, not the path, which contains addresses. Null
 * without traces.
 */
export const startRequestSpan = (request: FastifyRequest, { raw: response }: FastifyReply): Span | null => {
  const span = tracing.startRequest(() => detailsOf(request), request.headers);
  // A response that the caller aborts closes without `onResponse`.
  if (span) response.once('close', () => span.end(resultOf(response)));
  return span;
};

const detailsOf = (request: FastifyRequest) => {
  const { url: route } = request.routeOptions;
  const method = METHODS.has(request.method) ? request.method : '_OTHER';
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
