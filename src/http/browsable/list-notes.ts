import type { FastifyReply } from 'fastify';
import type { Pagination } from '../../../routers/context.ts';
import { type Html, html } from '../pages/html.ts';
import type { Endpoint } from '../rest/endpoints.ts';

/** What a page shows of a list; whoever wants all of it wants JSON. */
export const MAX_ITEMS = 100;
const PARTS = ['page', 'page_size', 'cursor', 'limit'];

/** Reads no more of a list than a page shows, unless a part of it was asked for. */
export const inputForPage = ({ input: { shape } }: Endpoint, input: Record<string, unknown>) =>
  'page' in shape && !PARTS.some((key) => key in input) ? { ...input, page: 1, page_size: MAX_ITEMS } : input;

/** Which elements are shown of how many, and where the others are. */
export const pageNote = (reply: FastifyReply, { number, size, count }: Pagination): Html => {
  const first = (number - 1) * size + 1;
  const last = Math.min(number * size, count, first + MAX_ITEMS - 1);
  return html`<nav class="note" aria-label="Pages"><p>${
    first > last ? `None of ${count} here.` : `${first} to ${last} of ${count}.`
  }</p>${linkTo(reply, 'x-previous', 'Previous page')}${linkTo(reply, 'x-next', 'Next page')}</nav>`;
};

export const cutNote = (): Html =>
  html`<p class="note">Only the first ${MAX_ITEMS} are shown here. JSON has the rest.</p>`;

/** Within this host: the headers name the whole address. */
const linkTo = (reply: FastifyReply, header: string, words: string): Html | false => {
  const url = URL.parse(String(reply.getHeader(header) ?? ''));
  return url !== null && html` <a href="${url.pathname}${url.search}">${words}</a>`;
};
