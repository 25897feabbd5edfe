import accepts from '@fastify/accepts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';

/** The form for people: every answer that has a body has it, after those for programs. */
export const HTML_TYPE = 'text/html';
export const JSON_TYPE = 'application/json';
/** First choice first. Further forms of an answer are to be added here. */
export const JSON_TYPES: readonly string[] = [JSON_TYPE, HTML_TYPE];
export const LIST_TYPES: readonly string[] = [JSON_TYPE, 'text/csv', HTML_TYPE];

const API = /^\/api\//;

/** Registers the `Accept` parser, and says on every answer that it depends on such headers. */
export const registerNegotiation = async (app: FastifyInstance): Promise<void> => {
  await app.register(accepts);
  app.addHook('onRequest', (request, reply, done) => {
    // The second in small letters, as the library that compresses looks for it.
    reply.header('vary', 'Accept, accept-encoding');
    const { headers } = request.raw;
    if (headers.accept !== undefined) {
      const accept = withoutParameters(headers.accept);
      headers.accept = API.test(request.url) && isProgramDefault(accept) ? withoutHtml(accept) : accept;
    }
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

// Some HTTP libraries send text/html by default although their callers read JSON: Java's HttpURLConnection sends
// "text/html, image/gif, image/jpeg, */*; q=0.2", Delphi's Indy "text/html, */*". Browsers also list
// application/xhtml+xml. A program that wants a page asks for text/html without */*, or sends ?format=html.
const isProgramDefault = (accept: string): boolean =>
  /text\/html/i.test(accept) && accept.includes('*/*') && !/application\/(xhtml\+xml|json)/i.test(accept);

const withoutHtml = (accept: string): string =>
  accept
    .split(',')
    .filter((range) => !/^text\/html(;|$)/i.test(range))
    .join(',');

/** `?format=` → the content types that it stands for. `api` is what Django REST framework calls its page. */
const FORMATS: ReadonlyMap<string, RegExp> = new Map([
  ['json', /\/json$/],
  ['csv', /^text\/csv$/],
  ['html', /^text\/html$/],
  ['api', /^text\/html$/],
]);

/** The value of `?format=`, which overrides the `Accept` header. Of several the last one counts, as in Django. */
const formatOf = ({ query }: FastifyRequest): string | undefined => {
  const { format } = (query ?? {}) as { format?: string | string[] }; // what Fastify's parser makes of a query
  return [format ?? []].flat().at(-1) || undefined;
};

/** Whether a failure is to be shown as a page. An unknown `?format=` is itself a failure: the header decides then. */
export const prefersHtml = (request: FastifyRequest, offers: readonly string[]): boolean => {
  const types = FORMATS.get(formatOf(request) ?? '');
  return types ? types.test(HTML_TYPE) : request.accepts().type([...offers]) === HTML_TYPE;
};

/**
 * The content type of the answer, by `?format=` or else by the `Accept` header.
 * @throws Problem `not-acceptable`
 */
export const negotiateType = (request: FastifyRequest, offers: readonly string[]): string => {
  const format = formatOf(request);
  if (format !== undefined) return typeByFormat(format, offers);
  const { accept } = request.headers;
  const [first] = offers;
  // Most callers write nothing else, and are spared the parser.
  if (first !== undefined && (accept === undefined || accept === '*/*' || accept === first)) return first;
  const chosen = request.accepts().type([...offers]);
  if (typeof chosen !== 'string') throw new Problem('not-acceptable');
  return chosen;
};

/** 406 rather than Django REST framework's 404, which here would mean that the object does not exist. */
const typeByFormat = (format: string, offers: readonly string[]): string => {
  const offer = offers.find((type) => FORMATS.get(format)?.test(type));
  if (offer !== undefined) return offer;
  const names = formatNames(offers).join(', ');
  throw new Problem('not-acceptable', { detail: `\`format\` must be one of: ${names}.` });
};

/** The documented values of `?format=` where these content types are on offer. */
export const formatNames = (offers: readonly string[]): string[] =>
  ['json', 'csv', 'html'].filter((name) => offers.some((type) => FORMATS.get(name)?.test(type)));

/** Says that the answer depends on these request headers as well. */
export const addVary = (reply: FastifyReply, ...names: string[]): void => {
  const known = String(reply.getHeader('vary') ?? '').split(',');
  const all = new Set([...known, ...names].map((name) => name.trim().toLowerCase()).filter(Boolean));
  reply.header('vary', [...all].join(', '));
};
