import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pagination } from '../../../routers/context.ts';
import type { Endpoint } from './endpoints.ts';

/** The address of another page of the list that was asked for. */
type PageUrl = (number: number) => string;

/** What `X-Next` and `X-Previous` hold at the ends of a list: clients of the replaced system compare with this word. */
const NO_PAGE = 'None';

/** Says which page of how many elements the answer is, and where the others are (RFC 8288). */
export const setPageHeaders = (reply: FastifyReply, page: Pagination, urlOf: PageUrl): void => {
  const last = Math.max(1, Math.ceil(page.count / page.size));
  const next = page.number < last ? urlOf(page.number + 1) : undefined;
  // Behind the end, the one before is the last that has something.
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

/** By the path as it is documented, and with all other keys of the query as they came. */
export const pageUrls = (
  { url }: Endpoint,
  { params, query }: Pick<FastifyRequest, 'params' | 'query'>,
  baseUrl: string,
  size: number,
): PageUrl => {
  const texts = params as Record<string, string>; // the path's, which Fastify decodes
  const path = url.replaceAll(/:(\w+)/g, (_match, key: string) => encodeURIComponent(texts[key] ?? ''));
  const kept = Object.entries(query as Record<string, string | string[]>) // what its parser makes of a query
    .filter(([key]) => key !== 'page' && key !== 'page_size')
    .flatMap(([key, value]) => [value].flat().map((text) => [key, text] as [string, string]));
  return (number) => {
    const search = new URLSearchParams([...kept, ['page', `${number}`], ['page_size', `${size}`]]);
    return `${baseUrl}${path}?${search}`;
  };
};
