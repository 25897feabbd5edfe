import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context } from '../../../routers/context.ts';
import { problemOf } from '../../../routers/middleware/errors.ts';
import { requireRole } from '../../../routers/procedure-meta.ts';
import type { ListFormat } from '../../../routers/schemas/row-encoder.ts';
import { isFault } from '../../lib/problems.ts';
import { limitListInput, sendProblemResponse } from '../browsable/serve-browsable.ts';
import { hasLargeBody } from '../middleware/body-limits.ts';
import { type ContextDeps, contextOf } from '../middleware/request-context.ts';
import { callEndpoint, type Endpoint, REST_ENDPOINTS } from './endpoints.ts';
import { parseBodiesAsBuffers, readBody, readInput } from './input.ts';
import { refuseOtherMethods } from './methods.ts';
import { EVENT_STREAM_TYPE, HTML_TYPE, JSON_TYPE, responseTypeFor } from './negotiation.ts';
import { sendResult } from './responses.ts';

/** Paths on which a POST needs a CSRF token even with an API token. */
const CSRF_PATHS = '/api/v1/hashr/';

/**
 * Registers a Fastify route for each REST endpoint, so that Fastify handles trailing slashes, decodes parameters, and prefers fixed
 * segments to parameters.
 */
export const serveRest = async (app: FastifyInstance, deps: ContextDeps): Promise<void> => {
  parseBodiesAsBuffers(app);
  for (const endpoint of REST_ENDPOINTS) {
    app.route({
      method: endpoint.method,
      url: endpoint.url,
      ...(endpoint.rest.maxBodyBytes && { bodyLimit: endpoint.rest.maxBodyBytes }),
      onRequest: (_request, reply) => negotiateAndAuthenticate(endpoint, reply, deps),
      handler: (_request, reply) => handleRequest(endpoint, reply, deps),
    });
  }
  const urls = REST_ENDPOINTS.map(({ url }) => url);
  refuseOtherMethods(app, urls);
};

/** Runs before the body is read. The guards of mutations read `If-Match` and `Idempotency-Key` later. */
const negotiateAndAuthenticate = async (endpoint: Endpoint, reply: FastifyReply, deps: ContextDeps) => {
  const { request } = reply;
  if (endpoint.rest.status !== 204) responseTypeFor(endpoint, request);
  if (endpoint.isPublic) return;
  const context = contextOf(request, deps);
  const actor = await context.findActor();
  if (!actor) throw context.unauthenticated();
  if (hasLargeBody(request)) requireRole(endpoint, actor);
  if (!endpoint.url.startsWith(CSRF_PATHS)) return;
  if (endpoint.method === 'GET') deps.csrf.issue(request, reply);
  if (endpoint.method === 'POST') deps.csrf.check(request);
};

const handleRequest = async (endpoint: Endpoint, reply: FastifyReply, deps: ContextDeps) => {
  const { request } = reply;
  const { isEventStream } = endpoint.rest;
  const body = await readBody(endpoint, request);
  const { params, query } = request as { params: Record<string, string>; query: Record<string, unknown> }; // Fastify parses both to strings
  // A client of a stream that reconnects sends the id of the last event that it received.
  const { 'last-event-id': lastEventId } = request.headers;
  const sent = isEventStream && lastEventId ? { ...query, lastEventId } : query;
  const { input, contentOf, errors } = readInput(endpoint, { params, query: sent, body });
  const type = endpoint.rest.status === 204 ? JSON_TYPE : responseTypeFor(endpoint, request);
  const isPage = endpoint.method === 'GET' && type === HTML_TYPE;
  const ctx: Context = {
    ...contextOf(request, deps),
    listFormat: endpoint.csv ? LIST_FORMATS[type] : undefined,
    isDownload: endpoint.rest.download !== undefined,
  };
  try {
    const signal = isEventStream ? disconnectSignal(reply) : undefined;
    const result = await callEndpoint(
      endpoint,
      ctx,
      isPage ? limitListInput(endpoint, input) : input,
      signal,
    );
    // The login may have ended since the request began.
    if (result === null) throw ctx.unauthenticated();
    if (isEventStream) return sendEventStream(reply, result as AsyncIterable<Tracked>); // what a subscription returns
    return await sendResult(endpoint, reply, { content: contentOf(result), type, baseUrl: deps.baseUrl });
  } catch (error) {
    const problem = problemOf(error);
    return sendProblemResponse(reply, problem, problem.fields && errors(problem.fields));
  }
};

/** Lists on a page are not streamed. */
const LIST_FORMATS: Readonly<Record<string, ListFormat>> = { [JSON_TYPE]: 'json', 'text/csv': 'csv' };

/** Below the timeouts of proxies, such as 60 s. */
const HEARTBEAT_MS = 15_000;
/** How long a client waits before it reconnects. */
const RETRY_MS = 2_000;

/** What a procedure yields: an id and its event, as tRPC's `tracked` makes them. */
type Tracked = readonly [id: string, event: unknown, ...rest: unknown[]];

/** Aborted when the caller disconnects. */
const disconnectSignal = ({ raw }: FastifyReply): AbortSignal => {
  const disconnected = new AbortController();
  raw.once('close', () => disconnected.abort());
  return disconnected.signal;
};

/**
 * Sends server-sent events as fast as the caller reads. The first byte is sent at once, so that the caller knows that the stream is open.
 */
const sendEventStream = (reply: FastifyReply, events: AsyncIterable<Tracked>) => {
  // Prevents proxies such as nginx from buffering.
  reply.type(EVENT_STREAM_TYPE).header('x-accel-buffering', 'no');
  if (reply.request.method === 'HEAD') return reply.send(Readable.from([]));
  return reply.send(Readable.from(textsOf(events), { highWaterMark: 1 }));
};

async function* textsOf(events: AsyncIterable<Tracked>): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n\n`;
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      yield* heartbeatsUntil(next);
      const { done, value } = await next;
      if (done) return;
      const [id, event] = value;
      yield `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
    }
  } catch (error) {
    // After a shutdown, or if the caller may no longer listen, the caller reconnects and gets the status then.
    if (!isAbort(error) && isFault(problemOf(error))) throw error;
  }
}

/** Without an AbortSignal, whose error would cost as much as all other work on an event. */
async function* heartbeatsUntil(next: Promise<unknown>): AsyncGenerator<string> {
  let hasArrived = false;
  let wake = (): void => {};
  const arrive = (): void => {
    hasArrived = true;
    wake();
  };
  next.then(arrive, arrive);
  while (!hasArrived) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, HEARTBEAT_MS).unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    if (!hasArrived) yield ':\n\n';
  }
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';
