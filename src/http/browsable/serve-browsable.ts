import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pagination } from '../../../routers/context.ts';
import { isAsyncIterable } from '../../../routers/schemas/lists.ts';
import { type Html, html } from '../../lib/html.ts';
import { localPath, loginPath } from '../pages/page-layout.ts';
import { type Endpoint, REST_ENDPOINTS } from '../rest/endpoints.ts';
import { HTML_TYPE, prefersHtml } from '../rest/negotiation.ts';
import { type ErrorsMember, prepareProblem, problemDocument, sendProblem } from '../rest/problem-document.ts';
import { sendResponsePage } from './response-page.ts';

const API = /^\/api\/v1(\/|\?|$)/;
const PROBLEM_TYPES = ['application/json', 'application/problem+json', HTML_TYPE];

/** The maximum number of elements of a list on a page. */
const MAX_ITEMS = 100;
const PAGINATION_KEYS = ['page', 'page_size', 'cursor', 'limit'];

/** Limits a list to the elements that a page shows, unless the request paginates it. */
export const limitListInput = ({ input: { shape } }: Endpoint, input: Record<string, unknown>) =>
  'page' in shape && !PAGINATION_KEYS.some((key) => key in input)
    ? { ...input, page: 1, page_size: MAX_ITEMS }
    : input;

type Result = { content: unknown; pagination: Pagination | undefined };

/** Sends the result of a procedure as a page; for a list, its first elements. */
export const sendResultPage = async (reply: FastifyReply, { content, pagination }: Result) => {
  const { items, isComplete } = isAsyncIterable(content)
    ? await readFirstItems(content)
    : firstItems(content);
  const json = JSON.stringify(items);
  const isWholeList = isComplete && pagination?.number === 1 && pagination.count <= pagination.size;
  const notes =
    pagination && !isWholeList ? [pageNote(reply, pagination)] : isComplete ? [] : [truncationNote()];
  return sendResponsePage(reply, { json, type: 'application/json', notes });
};

const firstItems = (content: unknown) => ({
  items: Array.isArray(content) ? content.slice(0, MAX_ITEMS) : content,
  isComplete: !Array.isArray(content) || content.length <= MAX_ITEMS,
});

/** Leaving the loop stops the query behind `pages`. */
const readFirstItems = async (pages: AsyncIterable<unknown[]>) => {
  const items: unknown[] = [];
  for await (const page of pages) {
    items.push(...page);
    if (items.length > MAX_ITEMS) break;
  }
  return firstItems(items);
};

/** The range of the shown elements, with links to the previous and next page. */
const pageNote = (reply: FastifyReply, { number, size, count }: Pagination): Html => {
  const first = (number - 1) * size + 1;
  const last = Math.min(number * size, count, first + MAX_ITEMS - 1);
  return html`<nav class="note" aria-label="Pages"><p>${
    first > last ? `Page ${number} is empty: the list has ${count} items.` : `${first}–${last} of ${count}`
  }</p>${pageLink(reply, 'x-previous', 'Previous page')}${pageLink(reply, 'x-next', 'Next page')}</nav>`;
};

/** A relative link: the header contains an absolute URL. */
const pageLink = (reply: FastifyReply, header: string, label: string): Html | false => {
  const url = URL.parse(String(reply.getHeader(header) ?? ''));
  return url !== null && html` <a href="${url.pathname}${url.search}">${label}</a>`;
};

const truncationNote = (): Html =>
  html`<p class="note">Only the first ${MAX_ITEMS} items are shown. Request JSON to get all of them.</p>`;

/** Sends an error as a problem document, or as a page that shows the document. */
export const sendProblemResponse = (reply: FastifyReply, error: unknown, errors?: ErrorsMember) => {
  const { request } = reply;
  if (!isBrowsable(request)) return sendProblem(reply, error, errors);
  const json = problemDocument(prepareProblem(reply, error), request.id, errors);
  const notes = reply.statusCode === 401 ? [loginNote(request)] : [];
  return sendResponsePage(reply, { json, type: 'application/problem+json', notes });
};

/** Whether a browser has requested a path of the API that can also be shown as a page. */
const isBrowsable = (request: FastifyRequest): boolean =>
  API.test(request.url) &&
  !jsonOnlyPaths.has(request.routeOptions.url ?? '') &&
  prefersHtml(request, PROBLEM_TYPES);

/** Paths whose responses are always JSON, including errors. */
const jsonOnlyPaths: ReadonlySet<string> = new Set(
  REST_ENDPOINTS.flatMap(({ rest, url }) => (rest.jsonOnly ? [url] : [])),
);

/** Links to the login, which returns to this page if it can be opened with GET. */
const loginNote = (request: FastifyRequest): Html => {
  const next = (request.method === 'GET' && localPath(request.url)) || '/';
  return html`
<div class="hint"><p>Log in with your browser, or send an API token.</p>
<p><a class="button" href="${loginPath(next)}">Log in</a></p></div>`;
};
