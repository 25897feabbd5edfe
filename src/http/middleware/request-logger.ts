import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isFault, type Problem } from '../../lib/problems.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { logFieldsOf } from '../../lib/tracing.ts';
import { EVENT_STREAM_TYPE } from '../rest/negotiation.ts';

const WITH_ACCESS_KEY = /^\/(?:v|api\/v1\/access_views|api\/v2\/accessviews)\/:key\//;
/** Matched in paths without a route. */
const ACCESS_KEY = /[0-9a-f]{32}/gi;

/** An `@`, percent-encoded any number of times. */
const AT_SIGN = /@|%(?:25)*40/i;

/**
 * The path without the query. If it contains a key of an access view, which opens an app, the route is logged instead; likewise for email
 * addresses, which must not outlive an erasure.
 */
const loggedPath = ({ url, routeOptions: { url: route = '' } }: FastifyRequest): string => {
  if (WITH_ACCESS_KEY.test(route)) return route;
  const path = url.replace(/\?.*$/s, '').replaceAll(ACCESS_KEY, '…');
  if (!route.includes('/:email') && !AT_SIGN.test(path)) return path;
  const names = route.split('/');
  const masked = path.split('/').map((segment, index) => {
    if (names[index] === ':email') return ':email';
    return AT_SIGN.test(segment) ? '…' : segment;
  });
  return masked.join('/');
};

/** Logs one line per response, without the query, which contains the inputs of tRPC calls. */
export const logResponses = (app: Pick<FastifyInstance, 'addHook' | 'log'>): void => {
  // The line contains no secrets. Redaction would take a sixth of the memory of a request.
  const log = app.log.child({}, { redact: [] });
  app.addHook('onResponse', (request, reply, done) => {
    // Streams last as long as their listeners want, and would distort the durations.
    if (reply.getHeader('content-type') !== EVENT_STREAM_TYPE)
      telemetry.response.publish(() => ({
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        status: reply.statusCode,
        seconds: reply.elapsedTime / 1000,
      }));
    log.info(
      {
        reqId: request.id,
        method: request.method,
        path: loggedPath(request),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        // This event of the socket has lost the async context of the request.
        ...logFieldsOf(request.state.span),
        // Email addresses and tokens must not be logged.
        ...(request.state.userId !== undefined && { user_id: request.state.userId }),
      },
      'request completed',
    );
    done();
  });
};

/** Logs a failure that operators should investigate. A refusal because of overload is not one, so it has no stack. */
export const logFault = (
  { log }: Pick<FastifyRequest, 'log'>,
  problem: Problem,
  fields: Record<string, unknown> = {},
): void => {
  if (!isFault(problem)) return;
  const { code, message, cause } = problem;
  if (code === 'overloaded' && cause === undefined) log.warn({ ...fields, reason: message }, code);
  else log.error({ ...fields, err: problem }, code);
};
