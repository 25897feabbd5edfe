import type { FastifyReply } from 'fastify';
import type { Problem } from '../../lib/problems.ts';
import { documentOf, type Page } from './layout.ts';
import { styleSource } from './style-sheet.ts';

type Options = {
  /** What the page is the answer to, when that has failed: gives the status. */
  problem?: Problem | null;
  status?: number;
  /** What its forms may lead to, as `form-action` of CSP writes it. */
  targets?: string;
};

/** Answers with a page that nothing may frame, script or keep. */
export const sendPage = (reply: FastifyReply, page: Page, options: Options = {}): FastifyReply => {
  const { problem, status = problem?.status ?? 200, targets = "'self'" } = options;
  if (problem?.retryAfterSeconds !== undefined) reply.header('retry-after', problem.retryAfterSeconds);
  return sendHtml(reply.code(status), documentOf(page).toString(), { style: styleSource, targets });
};

/** Sends HTML with the status that the reply has. `style` and `targets` are as the policy writes them. */
export const sendHtml = (
  reply: FastifyReply,
  text: string,
  { style, targets }: { style: string; targets: string },
): FastifyReply =>
  keepPrivate(reply)
    .type('text/html; charset=utf-8')
    .header('content-security-policy', policyWith(style, targets))
    .header('x-content-type-options', 'nosniff')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('cross-origin-resource-policy', 'same-origin')
    .send(text);

/** Sends the browser on by a GET, whatever it came with. */
export const goTo = (reply: FastifyReply, location: string): FastifyReply =>
  keepPrivate(reply).code(303).header('location', location).send();

/**
 * Addresses of pages carry secrets. `strict-origin` keeps paths and queries from everybody; `no-referrer` would also
 * make browsers send `Origin: null` with every form, and nobody could tell our own forms from others'.
 */
const keepPrivate = (reply: FastifyReply): FastifyReply =>
  reply.header('referrer-policy', 'strict-origin').header('cache-control', 'no-store');

const policyWith = (style: string, targets: string): string =>
  [
    "default-src 'none'",
    `style-src ${style}`,
    "img-src 'self'",
    `form-action ${targets}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
