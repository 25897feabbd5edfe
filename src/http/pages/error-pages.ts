import type { FastifyReply, FastifyRequest } from 'fastify';
import { createCaller } from '../../../routers/index.ts';
import { problemOf } from '../../../routers/middleware/errors.ts';
import { Problem, type ProblemCode } from '../../lib/problems.ts';
import { type ContextDeps, contextOf } from '../middleware/request-context.ts';
import { type Html, html } from './html.ts';
import { messageHtml } from './message-html.ts';
import { sendPage } from './send-page.ts';

/** What programs call, and are answered in their own form. */
const FOR_PROGRAMS = /^\/(api|trpc)(\/|\?|$)/;

/** Whether it is a person who would read the answer: a browser on a path that is not for programs. */
export const prefersPage = (request: FastifyRequest): boolean =>
  !FOR_PROGRAMS.test(request.url) &&
  request.accepts().type(['application/json', 'text/html']) === 'text/html';

/** The client's own page for what cannot be found. */
export const notFoundPage = async (request: FastifyRequest, reply: FastifyReply, deps: ContextDeps) => {
  const branding = await brandingOf(request, deps);
  const title = branding.subtitle_404 || 'We could not find that page';
  const content = html`
<p class="code">404</p>
<h1>${title}</h1>
<div class="card">
${(await messageHtml(branding.message_404)) ?? html`<p>The link may be incomplete, or the page has moved.</p>`}
<p><a class="button" href="/">Go to the start page</a></p>
</div>`;
  return sendPage(reply, { brand: branding, title, content }, { problem: new Problem('not-found') });
};

/** The page for whatever a page could not do, of our own fault or of the request's. */
export const failurePage = async (
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  deps: ContextDeps,
) => {
  const problem = problemOfPage(error);
  if (problem.status === 404) return notFoundPage(request, reply, deps);
  if (problem.status >= 500) request.log.error({ err: problem }, problem.code);
  const branding = await brandingOf(request, deps);
  const { title, message } = problem.status < 500 ? refusal(problem) : await trouble(problem, branding);
  const content = html`
<p class="code">${problem.status}</p>
<h1>${title}</h1>
<div class="card">
${message}
${problem.status >= 500 && numberToQuote(request)}
<p><a class="button" href="/">Go to the start page</a></p>
</div>`;
  return sendPage(reply, { brand: branding, title, content }, { problem });
};

const numberToQuote = (request: FastifyRequest): Html =>
  html`<p class="aside">When you ask for help, mention this number: <code>${request.id}</code></p>`;

const REFUSALS: Partial<Record<ProblemCode, string>> = {
  'method-not-allowed': 'This page cannot be opened in this way.',
  'rate-limited': 'Too much was asked for from here. Please wait a minute, and try again.',
};

const refusal = (problem: Problem) => ({
  title: 'That did not work',
  message: html`<p>${
    REFUSALS[problem.code] ?? 'What was sent cannot be read here. Please go back and try again.'
  }</p>`,
});

const trouble = async (problem: Problem, branding: Texts) => ({
  title: branding.subtitle_500 || 'Something went wrong on our side',
  message:
    problem.status === 503
      ? html`<p>We are back in a moment. Please try again then.</p>`
      : ((await messageHtml(branding.message_500)) ?? html`<p>Please try again in a moment.</p>`),
});

/** Faults that Fastify itself finds in a form carry a status and no problem. */
const problemOfPage = (error: unknown): Problem => {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  if (status === 413) return new Problem('body-too-large', { cause: error });
  return status < 500 ? new Problem('malformed-body', { cause: error }) : problemOf(error);
};

type Texts = {
  client_name: string;
  support_email: string;
  subtitle_404: string;
  message_404: string;
  subtitle_500: string;
  message_500: string;
};

/** Where even the client's texts cannot be had, the page comes without them. */
const brandingOf = (request: FastifyRequest, deps: ContextDeps): Promise<Texts> =>
  createCaller(contextOf(request, deps))
    .branding.get({})
    .catch((_away: unknown) => NO_TEXTS);

const NO_TEXTS: Texts = {
  client_name: 'Steward',
  support_email: '',
  subtitle_404: '',
  message_404: '',
  subtitle_500: '',
  message_500: '',
};
