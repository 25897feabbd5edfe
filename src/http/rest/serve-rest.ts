import { callTRPCProcedure } from '@trpc/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { appRouter } from '../../../routers/index.ts';
import { problemOf } from '../../../routers/middleware/errors.ts';
import { JsonStream } from '../../db/json-stream/json-stream.ts';
import { Problem } from '../../lib/problems.ts';
import { limitListInput, sendProblemResponse, sendResultPage } from '../browsable/serve-browsable.ts';
import { type ContextDeps, contextOf } from '../middleware/request-context.ts';
import { parseBodiesAsBuffers, readBody } from './body.ts';
import { isNotModified, locationOf, responseEtag } from './conditional-requests.ts';
import { csvFileName } from './csv-file-name.ts';
import { type Endpoint, restEndpoints } from './endpoints.ts';
import { readInput } from './input.ts';
import { csvOf, isPages, jsonOf, sendPages } from './list-responses.ts';
import { methodsByPath, refuseOtherMethods } from './methods.ts';
import { HTML_TYPE, JSON_TYPE } from './negotiation.ts';
import { pageUrls, setPageHeaders } from './page-headers.ts';
import { preferredReturn } from './prefer-header.ts';
import { responseTypeFor } from './response-types.ts';
import { sendListText } from './streamed-list.ts';

/** The paths on which a POST needs a CSRF token whichever way the caller logged in. */
const CSRF_PATHS = '/api/v1/hashr/';

/**
 * Serves the procedures on their REST paths, by real routes: with and without the trailing slash, fixed
 * segments before parameters, parameters decoded.
 */
export const serveRest = async (app: FastifyInstance, deps: ContextDeps): Promise<void> => {
  parseBodiesAsBuffers(app);
  const endpoints = restEndpoints();
  for (const endpoint of endpoints) {
    app.route({
      method: endpoint.method,
      url: endpoint.url,
      ...(endpoint.rest.maxBodyBytes && { bodyLimit: endpoint.rest.maxBodyBytes }),
      onRequest: (request, reply) => checkHeaders(endpoint, request, reply, deps),
      handler: (request, reply) => handleRequest(endpoint, request, reply, deps),
    });
  }
  refuseOtherMethods(app, methodsByPath(endpoints));
};

/** Whatever can be refused by the headers alone is refused before the body is read. */
const checkHeaders = async (
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ContextDeps,
) => {
  if (endpoint.rest.status !== 204) responseTypeFor(endpoint, request);
  if (endpoint.isPublic || canAuthenticateLater(endpoint, request)) return;
  if (!(await contextOf(request, deps).authenticate())) throw new Problem('unauthenticated');
  if (!endpoint.url.startsWith(CSRF_PATHS)) return;
  if (endpoint.method === 'GET') deps.csrf.issue(request, reply);
  if (endpoint.method === 'POST') deps.csrf.check(request);
};

/** There is no body to be spared, and the procedure asks who calls: it may do something else meanwhile. */
const canAuthenticateLater = ({ method, url }: Endpoint, { headers }: FastifyRequest): boolean =>
  method === 'GET' &&
  !url.startsWith(CSRF_PATHS) &&
  (headers['content-length'] ?? '0') === '0' &&
  headers['transfer-encoding'] === undefined;

const handleRequest = async (
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ContextDeps,
) => {
  const body = await readBody(request, endpoint.rest.forms === true);
  const { params, query } = request as { params: Record<string, string>; query: Record<string, unknown> }; // Fastify parses both into text
  const { input, isSingle, errors } = readInput(endpoint, { params, query, body });
  try {
    const result: unknown = await callTRPCProcedure({
      router: appRouter,
      path: endpoint.procedure,
      type: endpoint.type,
      ctx: acceptsJsonStream(endpoint, request)
        ? { ...contextOf(request, deps), acceptsJsonStream: true }
        : contextOf(request, deps),
      getRawInput: async () => (isBrowsablePage(endpoint, request) ? limitListInput(endpoint, input) : input),
      signal: undefined,
      batchIndex: 0,
    });
    const content = endpoint.rest.many && isSingle && Array.isArray(result) ? result[0] : result;
    return await send(endpoint, request, reply, content, deps);
  } catch (error) {
    const problem = problemOf(error);
    return sendProblemResponse(request, reply, problem, problem.fields && errors(problem.fields));
  }
};

const acceptsJsonStream = (endpoint: Endpoint, request: FastifyRequest): boolean =>
  endpoint.csv !== null && responseTypeFor(endpoint, request) === JSON_TYPE;

const isBrowsablePage = (endpoint: Endpoint, request: FastifyRequest): boolean =>
  endpoint.method === 'GET' && responseTypeFor(endpoint, request) === HTML_TYPE;

const send = (
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  content: unknown,
  { baseUrl }: ContextDeps,
) => {
  const { status = 200, items } = endpoint.rest;
  if (status === 204) return sendNothing(request, reply, content);
  const form = responseTypeFor(endpoint, request);
  const { page } = request.state;
  if (page) setPageHeaders(reply, page, pageUrls(endpoint, request, baseUrl, page.size));
  const location = locationOf(endpoint, status, content);
  if (location !== null) reply.header('location', location);
  if (form === HTML_TYPE)
    return sendResultPage(request, reply.code(status), { content, page, writer: items });
  if (form === 'text/csv') reply.header('content-disposition', attachmentOf(endpoint, request));
  if (content instanceof JsonStream) return sendListText(request, reply, content);
  if (items && isPages(content)) return sendPages(request, reply, content, form, items);
  const text = textOf(content, form, endpoint);
  const etag = responseEtag(endpoint, status, content, text);
  if (etag !== null) {
    reply.header('etag', etag);
    if (isNotModified(request, etag)) return sendNotModified(request, reply, form, text);
  }
  if (etag !== null && endpoint.method !== 'GET' && preferredReturn(request) === 'minimal') {
    reply.header('preference-applied', 'return=minimal');
    return reply.code(location === null ? 204 : status).send();
  }
  return sendText(reply, status, form, text);
};

const textOf = (content: unknown, form: string, { csv, rest: { items } }: Endpoint): string => {
  if (csv && form === 'text/csv') return csvOf(Array.isArray(content) ? content : [content], csv);
  return items && Array.isArray(content) ? jsonOf(content, items) : JSON.stringify(content);
};

const attachmentOf = ({ url }: Endpoint, { params }: FastifyRequest): string =>
  `attachment; filename="${csvFileName(url, params as Record<string, string>)}"`; // Fastify parses them into text

/** The answer to a HEAD says how long the body would be, had it one; Fastify takes it away. */
const sendNotModified = (request: FastifyRequest, reply: FastifyReply, form: string, text: string) =>
  request.method === 'HEAD' ? sendText(reply, 304, form, text) : reply.code(304).send();

/** With a body all the same, if there is one and the caller would rather have it. */
const sendNothing = (request: FastifyRequest, reply: FastifyReply, content: unknown) => {
  if (content === undefined || preferredReturn(request) !== 'representation') return reply.code(204).send();
  reply.header('preference-applied', 'return=representation');
  return sendText(reply, 200, 'application/json', JSON.stringify(content));
};

const sendText = (reply: FastifyReply, status: number, form: string, text: string) =>
  reply.code(status).type(`${form}; charset=utf-8`).send(text);
