import accepts from '@fastify/accepts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import type { Endpoint } from './endpoints.ts';

/** The browsable page, as which every response with a body can be shown. The last choice, after the formats for programs. */
export const HTML_TYPE = 'text/html';
export const JSON_TYPE = 'application/json';
export const EVENT_STREAM_TYPE = 'text/event-stream';
/** Content types in the order in which the server prefers them. Add further formats here. */
export const JSON_TYPES: readonly string[] = [JSON_TYPE, HTML_TYPE];
const LIST_TYPES: readonly string[] = [JSON_TYPE, 'text/csv', HTML_TYPE];

const API = /^\/api\//;

/** Registers the `Accept` parser and sets `Vary` on every response. */
export const registerNegotiation = async (app: FastifyInstance): Promise<void> => {
  await app.register(accepts);
  app.addHook('onRequest', (request, reply, done) => {
    // @fastify/compress looks for the second name in lower case.
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
 * Drops all parameters except the weight, and turns `*` into the full wildcard. Clients send parameters (`; charset=utf-8`, `; indent=4`)
 * that match no response type, and the parser would reject both.
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

/** `?format=` → content types. `api` is the name of the browsable page in Django REST framework. */
const FORMATS: ReadonlyMap<string, RegExp> = new Map([
  ['json', /\/json$/],
  ['csv', /^text\/csv$/],
  ['html', /^text\/html$/],
  ['api', /^text\/html$/],
]);

/** The value of `?format=`, which overrides the `Accept` header. If there are several, the last one wins, as in Django. */
const formatOf = ({ query }: FastifyRequest): string | undefined => {
  const { format } = (query ?? {}) as { format?: string | string[] }; // the result of Fastify's query parser
  return [format ?? []].flat().at(-1) || undefined;
};

/** Whether to show a failure as a page. An unknown `?format=` is a failure itself, so the header decides in that case. */
export const prefersHtml = (request: FastifyRequest, types: readonly string[]): boolean => {
  const format = FORMATS.get(formatOf(request) ?? '');
  return format ? format.test(HTML_TYPE) : request.accepts().type([...types]) === HTML_TYPE;
};

/**
 * Chooses the content type of the response by `?format=`, else by the `Accept` header.
 * @throws Problem `not-acceptable`
 */
export const negotiateType = (request: FastifyRequest, types: readonly string[]): string => {
  const format = formatOf(request);
  if (format !== undefined) return typeByFormat(format, types);
  const { accept } = request.headers;
  const [first] = types;
  // Most requests need no parsing.
  if (first !== undefined && (accept === undefined || accept === '*/*' || accept === first)) return first;
  const chosen = request.accepts().type([...types]);
  if (typeof chosen === 'string') return chosen;
  throw new Problem('not-acceptable', {
    detail: `None of the requested formats is available. Available: ${types.join(', ')}.`,
  });
};

/** Fails with 406. Django REST framework responds with 404, which here would mean that the object does not exist. */
const typeByFormat = (format: string, types: readonly string[]): string => {
  const found = types.find((type) => FORMATS.get(format)?.test(type));
  if (found !== undefined) return found;
  const names = formatNames(types).join(', ');
  throw new Problem('not-acceptable', { detail: `\`format\` must be one of: ${names}.` });
};

/** The documented values of `?format=` for these content types. */
export const formatNames = (types: readonly string[]): string[] =>
  ['json', 'csv', 'html'].filter((name) => types.some((type) => FORMATS.get(name)?.test(type)));

/** The content types of an endpoint's responses, the server's first choice first. */
export const responseTypesOf = ({ rest, csv }: Pick<Endpoint, 'rest' | 'csv'>): readonly string[] => {
  if (rest.jsonOnly) return [JSON_TYPE];
  if (rest.isEventStream) return [EVENT_STREAM_TYPE];
  if (rest.download !== undefined) return [rest.download];
  if (rest.responseTypes) return [...rest.responseTypes, HTML_TYPE];
  return csv ? LIST_TYPES : JSON_TYPES;
};

/**
 * The content type of an endpoint's response to this request.
 * @throws Problem `not-acceptable`
 */
export const responseTypeFor = (endpoint: Endpoint, request: FastifyRequest): string =>
  endpoint.rest.jsonOnly ? JSON_TYPE : negotiateType(request, responseTypesOf(endpoint));

/** The `return` preference of a change (RFC 7240 §4.2), or null. If there are several, the first one wins. */
export const preferredReturn = ({ headers }: Pick<FastifyRequest, 'headers'>): string | null => {
  const { prefer } = headers;
  if (prefer === undefined) return null;
  for (const preference of String(prefer).split(',')) {
    const [, value] = RETURN_PREFERENCE.exec(preference) ?? [];
    if (value !== undefined) return value.toLowerCase();
  }
  return null;
};

const RETURN_PREFERENCE = /^\s*return\s*=\s*"?(representation|minimal)"?\s*(?:;|$)/i;

/** Adds request headers that the response depends on to `Vary`. */
export const addVary = (reply: FastifyReply, ...names: string[]): void => {
  const current = String(reply.getHeader('vary') ?? '').split(',');
  const all = new Set([...current, ...names].map((name) => name.trim().toLowerCase()).filter(Boolean));
  reply.header('vary', [...all].join(', '));
};
