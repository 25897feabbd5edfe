import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pagination } from '../../../routers/context.ts';
import type { ListPage, ListStream } from '../../db/list-pages.ts';
import type { Download } from '../../lib/files.ts';
import { csvFileName } from './csv.ts';
import { type Endpoint, endpointOf } from './endpoints.ts';

/** The URL of another page of the same list. */
type PageUrl = (number: number) => string;

/** The value of `X-Next` and `X-Previous` at the ends of a list: clients of the replaced system compare with this word. */
const NO_PAGE = 'None';

/** Sets the number of elements and the links to the other pages (RFC 8288). */
export const setPageHeaders = (reply: FastifyReply, page: Pagination, urlOf: PageUrl): void => {
  const last = Math.max(1, Math.ceil(page.count / page.size));
  const next = page.number < last ? urlOf(page.number + 1) : undefined;
  // Past the end, the previous page is the last one with elements.
  const previous = page.number > 1 ? urlOf(Math.min(page.number - 1, last)) : undefined;
  reply.header('x-count', page.count).header('x-page', page.number).header('x-pagesize', page.size);
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
export const pageUrls = (
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
export const locationOf = ({ rest }: Endpoint, status: number, content: unknown): string | null => {
  if (status !== 201 || !rest.resourceQuery) return null;
  // The response of a creation contains the path parameters of the resource.
  return fillPath(endpointOf(rest.resourceQuery).url, content as Record<string, unknown>);
};

const fillPath = (url: string, params: Record<string, unknown>): string =>
  url.replaceAll(/:(\w+)/g, (_match, key: string) => encodeURIComponent(String(params[key] ?? '')));

/** The `Content-Disposition` of a CSV response. */
export const attachmentOf = ({ url }: Endpoint, { params }: FastifyRequest): string =>
  `attachment; filename="${csvFileName(url, params as Record<string, string>)}"`; // decoded by Fastify

/**
 * Streams a list as fast as the caller reads, or with a `Content-Length` if it is one page. The first page is read before the
 * status is sent, so that its failure has its own status. A later failure aborts the response, which no parser mistakes for
 * the end of the list.
 */
export const sendListStream = async (reply: FastifyReply, { pages }: ListStream, type: string) => {
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
  // Stops the source when the caller disconnects, too.
  stream.once('close', () => void iterator.return?.().catch(() => undefined));
  return reply.send(stream);
};

/** Streams a file as fast as the caller reads. A failure aborts the response. */
export const sendDownload = (reply: FastifyReply, { fileName, content }: Download, type: string) => {
  reply.type(type.startsWith('text/') ? `${type}; charset=utf-8` : type);
  reply.header('content-disposition', `attachment; filename="${fileName}"`);
  // The file is private, and made for this request.
  reply.header('cache-control', 'no-store');
  if (reply.request.method !== 'HEAD') return reply.send(content);
  content.destroy();
  return reply.send(Readable.from([]));
};

async function* textsOf(
  first: IteratorResult<ListPage>,
  rest: AsyncIterator<ListPage>,
): AsyncGenerator<Buffer> {
  for (let next = first; !next.done; next = await rest.next()) yield* next.value.texts;
}
