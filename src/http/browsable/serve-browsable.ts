import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pagination } from '../../../routers/context.ts';
import type { ItemWriter } from '../../../routers/schemas/streamed-items.ts';
import { restEndpoints } from '../rest/endpoints.ts';
import { isPages, jsonOf } from '../rest/list-responses.ts';
import { HTML_TYPE, prefersHtml } from '../rest/negotiation.ts';
import { type ErrorsMember, prepareProblem, problemDocument, sendProblem } from '../rest/problem-document.ts';
import { loginHint } from './document.ts';
import { cutNote, MAX_ITEMS, pageNote } from './list-notes.ts';
import { sendAnswer } from './response-page.ts';

const API = /^\/api\/v1(\/|\?|$)/;
const FAILURE_FORMS = ['application/json', 'application/problem+json', HTML_TYPE];

type Result = { content: unknown; page: Pagination | undefined; writer: ItemWriter | undefined };

/** Shows a result of a procedure: of lists, the beginning. */
export const sendResult = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { content, page, writer }: Result,
) => {
  const { items, isWhole } = isPages(content) ? await firstPages(content) : beginning(content);
  const json = Array.isArray(items) && writer ? jsonOf(items, writer) : JSON.stringify(items);
  const isPart = page !== undefined && !(isWhole && page.number === 1 && page.count <= page.size);
  const notes = isPart ? [pageNote(reply, page)] : isWhole ? [] : [cutNote()];
  return sendAnswer(request, reply, { json, type: 'application/json', notes });
};

const beginning = (content: unknown) => ({
  items: Array.isArray(content) ? content.slice(0, MAX_ITEMS) : content,
  isWhole: !Array.isArray(content) || content.length <= MAX_ITEMS,
});

/** Whoever makes the pages stops as soon as there is enough. */
const firstPages = async (pages: AsyncIterable<unknown[]>) => {
  const items: unknown[] = [];
  for await (const page of pages) {
    items.push(...page);
    if (items.length > MAX_ITEMS) break;
  }
  return beginning(items);
};

/** Answers a failure as a problem document, or as a page that shows it. */
export const answerProblem = (
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  errors?: ErrorsMember,
) => {
  if (!showsPage(request)) return sendProblem(request, reply, error, errors);
  const json = problemDocument(prepareProblem(request, reply, error), request.id, errors);
  const notes = reply.statusCode === 401 ? [loginHint(request)] : [];
  return sendAnswer(request, reply, { json, type: 'application/problem+json', notes });
};

const showsPage = (request: FastifyRequest): boolean =>
  API.test(request.url) && !isJsonOnly(request) && prefersHtml(request, FAILURE_FORMS);

/** Of every method: a path that answers JSON only fails in JSON only. */
const isJsonOnly = ({ routeOptions }: FastifyRequest): boolean => jsonOnlyPaths.has(routeOptions.url ?? '');

const jsonOnlyPaths: ReadonlySet<string> = new Set(
  restEndpoints().flatMap(({ rest, url }) => (rest.jsonOnly ? [url] : [])),
);
