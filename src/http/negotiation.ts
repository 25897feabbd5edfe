import accepts from '@fastify/accepts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../core/problems.ts';

/** The form for people: every answer that has a body has it, after those for programs. */
export const PAGE_FORM = 'text/html';
export const JSON_FORM = 'application/json';
/** First choice first. Further forms of an answer are to be added here. */
export const JSON_FORMS: readonly string[] = [JSON_FORM, PAGE_FORM];
export const LIST_FORMS: readonly string[] = [JSON_FORM, 'text/csv', PAGE_FORM];

/** Registers the `Accept` parser, and says on every answer that it depends on such headers. */
export const negotiate = async (app: FastifyInstance): Promise<void> => {
  await app.register(accepts);
  app.addHook('onRequest', (request, reply, done) => {
    // The second in small letters, as the library that compresses looks for it.
    reply.header('vary', 'Accept, accept-encoding');
    const { headers } = request.raw;
    if (headers.accept !== undefined) headers.accept = withoutParameters(headers.accept);
    done();
  });
};

/**
 * Callers add parameters (`; charset=utf-8`, `; indent=4`) that no answer has, and some write `*` alone. Neither
 * changes what they can read; the parser would take both for something that is not on offer.
 */
const withoutParameters = (accept: string): string =>
  accept
    .split(',')
    .map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
      const weight = parameters.find((parameter) => /^q\s*=/i.test(parameter));
      return [type === '*' ? '*/*' : type, ...(weight ? [weight] : [])].join(';');
    })
    .join(',');

/**
 * The form of the answer that the caller likes best.
 * @throws Problem `not-acceptable`
 */
export const chooseForm = (request: FastifyRequest, offers: readonly string[]): string => {
  const { accept } = request.headers;
  const [first] = offers;
  // Most callers write nothing else, and are spared the parser.
  if (first !== undefined && (accept === undefined || accept === '*/*' || accept === first)) return first;
  const chosen = request.accepts().type([...offers]);
  if (typeof chosen !== 'string') throw new Problem('not-acceptable');
  return chosen;
};

/** Says that the answer depends on these request headers as well. */
export const varyBy = (reply: FastifyReply, ...names: string[]): void => {
  const known = String(reply.getHeader('vary') ?? '').split(',');
  const all = new Set([...known, ...names].map((name) => name.trim().toLowerCase()).filter(Boolean));
  reply.header('vary', [...all].join(', '));
};
