import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { problemOf } from '../../../routers/middleware/errors.ts';
import type { ListFormat } from '../../../routers/schemas/lists.ts';
import { ListStream } from '../../db/list-pages.ts';
import { Download } from '../../lib/files.ts';
import { limitListInput, sendProblemResponse, sendResultPage } from '../browsable/serve-browsable.ts';
import { type ContextDeps, contextOf } from '../middleware/request-context.ts';
import { isNotModified, responseEtag } from './conditional-requests.ts';
import { toCsv } from './csv.ts';
import { callEndpoint, type Endpoint, restEndpoints } from './endpoints.ts';
import { isForm, parseBodiesAsBuffers, readBody, readInput } from './input.ts';
import { refuseOtherMethods } from './methods.ts';
import { HTML_TYPE, JSON_TYPE, preferredReturn, responseTypeFor } from './negotiation.ts';
import {
  attachmentOf,
  locationOf,
  pageUrls,
  sendDownload,
  sendListStream,
  setPageHeaders,
} from './responses.ts';

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
      onRequest: (_request, reply) => checkHeaders(endpoint, reply, deps),
      handler: (_request, reply) => handleRequest(endpoint, reply, deps),
    });
  }
  refuseOtherMethods(
    app,
    endpoints.map(({ url }) => url),
  );
};

/** Does all checks that need only the headers, before the body is read. */
const checkHeaders = async (endpoint: Endpoint, reply: FastifyReply, deps: ContextDeps) => {
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
  const { input, isSingle, errors } = readInput(endpoint, { params, query, body, isForm: isForm(request) });
  const context = contextOf(request, deps);
  try {
    const isDownload = endpoint.rest.download !== undefined;
    const ctx = { ...context, listFormat: listFormatFor(endpoint, request), isDownload };
    const shownInput = isBrowsablePage(endpoint, request) ? limitListInput(endpoint, input) : input;
    const result = await callEndpoint(endpoint, ctx, shownInput);
    const content = endpoint.rest.many && isSingle && Array.isArray(result) ? result[0] : result;
    return await send(endpoint, reply, content, deps);
  } catch (error) {
    const problem = problemOf(error);
    return sendProblemResponse(reply, problem, problem.fields && errors(problem.fields));
  }
};

/** Undefined if the endpoint has no list, or the list is shown on a page. */
const listFormatFor = (endpoint: Endpoint, request: FastifyRequest): ListFormat | undefined => {
  if (endpoint.csv === null) return undefined;
  const type = responseTypeFor(endpoint, request);
  if (type === 'text/csv') return 'csv';
  return type === JSON_TYPE ? 'json' : undefined;
};

const isBrowsablePage = (endpoint: Endpoint, request: FastifyRequest): boolean =>
  endpoint.method === 'GET' && responseTypeFor(endpoint, request) === HTML_TYPE;

const send = (endpoint: Endpoint, reply: FastifyReply, content: unknown, { baseUrl }: ContextDeps) => {
  const { request } = reply;
  const { status = 200 } = endpoint.rest;
  if (status === 204) return sendNoContent(reply, content);
  const type = responseTypeFor(endpoint, request);
  const { page } = request.state;
  if (page) setPageHeaders(reply, page, pageUrls(endpoint, request, baseUrl, page.size));
  const location = locationOf(endpoint, status, content);
  if (location !== null) reply.header('location', location);
  if (type === HTML_TYPE) return sendResultPage(reply.code(status), { content, page });
  if (type === 'text/csv') reply.header('content-disposition', attachmentOf(endpoint, request));
  if (content instanceof Download) return sendDownload(reply, content, type);
  if (content instanceof ListStream) return sendListStream(reply, content, type);
  const text = serialize(content, type, endpoint);
  const etag = responseEtag(endpoint, status, content, text);
  if (etag !== null) {
    reply.header('etag', etag);
    if (isNotModified(request, etag)) return sendNotModified(reply, type, text);
  }
  if (etag !== null && endpoint.method !== 'GET' && preferredReturn(request) === 'minimal') {
    reply.header('preference-applied', 'return=minimal');
    return reply.code(location === null ? 204 : status).send();
  }
  return sendText(reply, status, type, text);
};

const serialize = (content: unknown, type: string, { csv }: Endpoint): string =>
  csv && type === 'text/csv'
    ? toCsv(Array.isArray(content) ? content : [content], csv)
    : JSON.stringify(content);

/** The headers of a response to HEAD include the length of the body, which Fastify drops. */
const sendNotModified = (reply: FastifyReply, type: string, text: string) =>
  reply.request.method === 'HEAD' ? sendText(reply, 304, type, text) : reply.code(304).send();

/** Sends 204, or 200 with the content if the caller prefers a representation. */
const sendNoContent = (reply: FastifyReply, content: unknown) => {
  const isPreferred = preferredReturn(reply.request) === 'representation';
  if (content === undefined || !isPreferred) return reply.code(204).send();
  reply.header('preference-applied', 'return=representation');
  return sendText(reply, 200, 'application/json', JSON.stringify(content));
};

/** Node would append a longer text to the headers, as a copy. */
const MAX_TEXT_LENGTH = 65_536;

const sendText = (reply: FastifyReply, status: number, type: string, text: string) =>
  reply
    .code(status)
    .type(`${type}; charset=utf-8`)
    .send(text.length > MAX_TEXT_LENGTH ? Buffer.from(text) : text);
