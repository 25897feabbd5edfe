import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ToldPage } from '../../../routers/context.ts';
import type { ItemWriter } from '../../../routers/lists.ts';
import { isPages, jsonOf } from '../lists.ts';
import { PAGE_FORM } from '../negotiation.ts';
import { type ErrorsMember, prepareProblem, problemDocument, sendProblem } from '../problem-document.ts';
import { sendAnswer } from './answer-page.ts';
import { loginHint } from './document.ts';
import { cutNote, MAX_ITEMS, pageNote } from './list-notes.ts';

const API = /^\/api\/v1(\/|\?|$)/;
const FAILURE_FORMS = ['application/json', 'application/problem+json', PAGE_FORM];

type Result = { content: unknown; page: ToldPage | undefined; writer: ItemWriter | undefined };

/** Shows a result of a procedure: of lists, the beginning. */
export const sendResult = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { content, page, writer }: Result,
) => {
  const { items, isWhole } = isPages(content) ? await firstPages(content) : beginning(content);
  const json = Array.isArray(items) && writer ? jsonOf(items, writer) : JSON.stringify(items);
  const notes = page ? [pageNote(reply, page)] : isWhole ? [] : [cutNote()];
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
  if (!wantsPage(request)) return sendProblem(request, reply, error, errors);
  const json = problemDocument(prepareProblem(request, reply, error), request.id, errors);
  const notes = reply.statusCode === 401 ? [loginHint(request)] : [];
  return sendAnswer(request, reply, { json, type: 'application/problem+json', notes });
};

const wantsPage = (request: FastifyRequest): boolean =>
  API.test(request.url) && request.accepts().type([...FAILURE_FORMS]) === PAGE_FORM;
