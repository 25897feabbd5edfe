import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pagination } from '../../../routers/context.ts';
import { type ListChunk, ListStream } from '../../db/list-pages.ts';
import { csvLine, csvRecords } from '../../lib/csv-line.ts';
import { Download } from '../../lib/files.ts';
import { sendResultPage } from '../browsable/serve-browsable.ts';
import { isNotModified, responseEtag } from '../middleware/conditional-requests.ts';
import { type Endpoint, endpointOf, fillPath, returnsResource } from './endpoints.ts';
import { HTML_TYPE, preferredReturn } from './negotiation.ts';

type Result = { content: unknown; type: string; baseUrl: string };

/** Sends the result of a procedure: as a page, a file, a streamed list, or text. */
export const sendResult = (endpoint: Endpoint, reply: FastifyReply, { content, type, baseUrl }: Result) => {
  const { request } = reply;
  const { status = 200 } = endpoint.rest;
  if (status === 204) return sendNoContent(reply, content);
  const { pagination } = request.state;
  if (pagination) setPageHeaders(reply, pagination, pageUrls(endpoint, request, baseUrl, pagination.size));
  const location = locationOf(endpoint, status, content);
  if (location !== null) reply.header('location', location);
  if (type === HTML_TYPE) return sendResultPage(reply.code(status), { content, pagination });
  if (type === 'text/csv') {
    const fileName = csvFileName(endpoint.url, request.params as Record<string, string>); // decoded by Fastify
    reply.header('content-disposition', `attachment; filename="${fileName}"`);
  }
  if (content instanceof Download) return sendDownload(reply, content, type);
  if (content instanceof ListStream) return sendListStream(reply, content, type);
  const text = serialize(content, type, endpoint);
  const etag = responseEtag(endpoint, content, text);
  if (etag !== null) {
    reply.header('etag', etag);
    if (isNotModified(request, etag)) return sendNotModified(reply, type, text);
  }
  if (etag !== null && returnsResource(endpoint) && preferredReturn(request) === 'minimal') {
    reply.header('preference-applied', 'return=minimal');
    return reply.code(location === null ? 204 : status).send();
  }
  return sendText(reply, status, type, text);
};

const serialize = (content: unknown, type: string, { csv }: Endpoint): string => {
  if (!csv || type !== 'text/csv') return JSON.stringify(content);
  const items = [content].flat() as Record<string, unknown>[]; // the schema of a list lets only objects through
  return csvLine(csv) + csvRecords(items, csv);
};

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

/** Node appends longer texts to the headers, as a copy. */
const MAX_TEXT_LENGTH = 65_536;

const sendText = (reply: FastifyReply, status: number, type: string, text: string) =>
  reply
    .code(status)
    .type(`${type}; charset=utf-8`)
    .send(text.length > MAX_TEXT_LENGTH ? Buffer.from(text) : text);

/** The URL of another page of the same list. */
type PageUrl = (number: number) => string;

/** The value of `X-Next` and `X-Previous` at the ends of a list: clients of the replaced service compare it with this word. */
const NO_PAGE = 'None';

/** Sets the number of elements and the links to the other pages (RFC 8288). */
const setPageHeaders = (reply: FastifyReply, { number, size, count }: Pagination, urlOf: PageUrl): void => {
  const last = Math.max(1, Math.ceil(count / size));
  const next = number < last ? urlOf(number + 1) : undefined;
  // Beyond the end, the previous page is the last page with elements.
  const previous = number > 1 ? urlOf(Math.min(number - 1, last)) : undefined;
  reply.header('x-count', count).header('x-page', number).header('x-pagesize', size);
  reply.header('x-next', next ?? NO_PAGE).header('x-previous', previous ?? NO_PAGE);
  const links = [
    linkTo('first', urlOf(1)),
    previous !== undefined && linkTo('prev', previous),
    next !== undefined && linkTo('next', next),
    linkTo('last', urlOf(last)),
  ];
  reply.header('link', links.filter((link) => link !== false).join(', '));
};

const linkTo = (relation: string, url: string): string => `<${url}>; rel="${relation}"`;

/** Builds page URLs from the documented path and the other query parameters of the request. */
const pageUrls = (
  { url }: Endpoint,
  { params, query }: Pick<FastifyRequest, 'params' | 'query'>,
  baseUrl: string,
  size: number,
): PageUrl => {
  const path = fillPath(url, params as Record<string, string>); // decoded by Fastify
  const kept = Object.entries(query as Record<string, string | string[]>) // the result of Fastify's query parser
    .filter(([key]) => key !== 'page' && key !== 'page_size')
    .flatMap(([key, value]) => [value].flat().map((text) => [key, text] as [string, string]));
  return (number) => {
    const search = new URLSearchParams([...kept, ['page', `${number}`], ['page_size', `${size}`]]);
    return `${baseUrl}${path}?${search}`;
  };
};

/** The `Location` of a created resource, or null if it has no path. */
const locationOf = ({ rest }: Endpoint, status: number, content: unknown): string | null => {
  if (status !== 201 || !rest.resourceQuery) return null;
  // The response of a creation contains the path parameters of the resource.
  return fillPath(endpointOf(rest.resourceQuery).url, content as Record<string, unknown>);
};

/**
 * Streams a list as fast as the caller reads; a single page gets a `Content-Length`. The first page is read before the status is sent, so
 * that its failure has its own status. A later failure aborts the response, which no parser mistakes for the end of the list.
 */
const sendListStream = async (reply: FastifyReply, { pages }: ListStream, type: string) => {
  const iterator = pages[Symbol.asyncIterator]();
  const first = await iterator.next();
  reply.type(`${type}; charset=utf-8`);
  if (first.value?.isLast) return reply.send(Buffer.concat(first.value.texts));
  // An empty stream for HEAD, because an empty string would set Content-Length: 0.
  if (reply.request.method === 'HEAD') {
    await iterator.return?.();
    return reply.send(Readable.from([]));
  }
  const stream = Readable.from(textsOf(first, iterator), { highWaterMark: 0 });
  // Also stops the source when the caller disconnects.
  stream.once('close', () => void iterator.return?.().catch(() => undefined));
  return reply.send(stream);
};

/** Streams a file as fast as the caller reads. A failure aborts the response. */
const sendDownload = (reply: FastifyReply, { fileName, content }: Download, type: string) => {
  reply.type(type.startsWith('text/') ? `${type}; charset=utf-8` : type);
  reply.header('content-disposition', `attachment; filename="${fileName}"`);
  if (reply.request.method !== 'HEAD') return reply.send(content);
  content.destroy();
  return reply.send(Readable.from([]));
};

async function* textsOf(
  first: IteratorResult<ListChunk>,
  rest: AsyncIterator<ListChunk>,
): AsyncGenerator<Buffer> {
  for (let next = first; !next.done; next = await rest.next()) {
    // Not `yield*`, which throws when the caller disconnects: the iterator of an array has no method `throw`.
    for (const text of next.value.texts) yield text;
  }
}

const MAX_NAME_LENGTH = 100;
/** Path segments without information about the content. */
const COMMON_SEGMENTS = new Set(['api', 'v1', 'jb', 'hashr']);

/** Names the file after the path: `/api/v1/jb/clients/:id/users/` with id 1 is `clients-1-users.csv`. */
export const csvFileName = (url: string, params: Record<string, string>): string => {
  const segments = url.split('/').filter((segment) => segment !== '' && !COMMON_SEGMENTS.has(segment));
  const values = segments.map((segment) =>
    segment.startsWith(':') ? (params[segment.slice(1)] ?? '') : segment,
  );
  // Other characters are unsafe in a header or a file name.
  const name = values.join('-').replaceAll(/[^\w.-]/g, '_');
  return `${name.slice(0, MAX_NAME_LENGTH)}.csv`;
};
