import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context } from '../../../routers/context.ts';
import { problemOf } from '../../../routers/middleware/errors.ts';
import type { ListFormat } from '../../../routers/schemas/lists.ts';
import { limitListInput, sendProblemResponse } from '../browsable/serve-browsable.ts';
import { type ContextDeps, contextOf } from '../middleware/request-context.ts';
import { callEndpoint, type Endpoint, restEndpoints } from './endpoints.ts';
import { disconnectSignal, sendEventStream } from './event-stream.ts';
import { isForm, parseBodiesAsBuffers, readBody, readInput } from './input.ts';
import { refuseOtherMethods } from './methods.ts';
import { HTML_TYPE, JSON_TYPE, responseTypeFor } from './negotiation.ts';
import { sendResult } from './responses.ts';

/** Paths on which a POST needs a CSRF token even with an API token. */
const CSRF_PATHS = '/api/v1/hashr/';

/**
 * Registers a Fastify route for each REST endpoint, so that Fastify handles trailing slashes, decodes parameters and prefers
 * fixed segments to them.
 */
export const serveRest = async (app: FastifyInstance, deps: ContextDeps): Promise<void> => {
  parseBodiesAsBuffers(app);
  const endpoints = restEndpoints();
  for (const endpoint of endpoints) {
    app.route({
      method: endpoint.method,
      url: endpoint.url,
      ...(endpoint.rest.maxBodyBytes && { bodyLimit: endpoint.rest.maxBodyBytes }),
      onRequest: (_request, reply) => negotiateAndAuthenticate(endpoint, reply, deps),
      handler: (_request, reply) =>
        endpoint.rest.isEventStream
          ? handleStream(endpoint, reply, deps)
          : handleRequest(endpoint, reply, deps),
    });
  }
  const urls = endpoints.map(({ url }) => url);
  refuseOtherMethods(app, urls);
};

/** Runs before the body is read. The guards of mutations read `If-Match` and `Idempotency-Key` later. */
const negotiateAndAuthenticate = async (endpoint: Endpoint, reply: FastifyReply, deps: ContextDeps) => {
  const { request } = reply;
  if (endpoint.rest.status !== 204) responseTypeFor(endpoint, request);
  if (endpoint.isPublic) return;
  const context = contextOf(request, deps);
  if (!(await context.authenticate())) throw context.unauthenticated();
  if (!endpoint.url.startsWith(CSRF_PATHS)) return;
  if (endpoint.method === 'GET') deps.csrf.issue(request, reply);
  if (endpoint.method === 'POST') deps.csrf.check(request);
};

const handleRequest = async (endpoint: Endpoint, reply: FastifyReply, deps: ContextDeps) => {
  const { request } = reply;
  const body = await readBody(request, endpoint.rest.forms === true);
  const { params, query } = request as { params: Record<string, string>; query: Record<string, unknown> }; // Fastify parses both to strings
  const { input, contentOf, errors } = readInput(endpoint, { params, query, body, isForm: isForm(request) });
  const type = endpoint.rest.status === 204 ? JSON_TYPE : responseTypeFor(endpoint, request);
  const isPage = endpoint.method === 'GET' && type === HTML_TYPE;
  const ctx: Context = {
    ...contextOf(request, deps),
    listFormat: endpoint.csv ? LIST_FORMATS[type] : undefined,
    isDownload: endpoint.rest.download !== undefined,
  };
  try {
    const result = await callEndpoint(endpoint, ctx, isPage ? limitListInput(endpoint, input) : input);
    return await sendResult(endpoint, reply, { content: contentOf(result), type, baseUrl: deps.baseUrl });
  } catch (error) {
    const problem = problemOf(error);
    return sendProblemResponse(reply, problem, problem.fields && errors(problem.fields));
  }
};

/** A client that connects again sends the id of the last event that it has got. */
const handleStream = async (endpoint: Endpoint, reply: FastifyReply, deps: ContextDeps) => {
  const { request } = reply;
  const { 'last-event-id': lastEventId } = request.headers;
  const query = { ...(request.query as object), ...(lastEventId && { lastEventId }) };
  const { input, errors } = readInput(endpoint, { params: {}, query, body: undefined, isForm: false });
  try {
    const signal = disconnectSignal(reply);
    const events = await callEndpoint(endpoint, contextOf(request, deps), input, signal);
    return sendEventStream(reply, events as Parameters<typeof sendEventStream>[1]); // what a subscription returns
  } catch (error) {
    const problem = problemOf(error);
    return sendProblemResponse(reply, problem, problem.fields && errors(problem.fields));
  }
};

/** Lists that are shown on a page are not streamed. */
const LIST_FORMATS: Readonly<Record<string, ListFormat>> = { [JSON_TYPE]: 'json', 'text/csv': 'csv' };
