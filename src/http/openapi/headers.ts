import type { Endpoint } from '../rest/endpoints.ts';
import { isTagged, mayBeMinimal } from './conditions.ts';
import type { JsonSchema } from './json-schemas.ts';

const text = (description: string): JsonSchema => ({ description, schema: { type: 'string' } });
const count = (description: string): JsonSchema => ({ description, schema: { type: 'integer', minimum: 0 } });

/** Headers of answers that mean something to callers. */
export const HEADERS = {
  'X-Request-Id': text('Names the request in the logs.'),
  'Retry-After': count('Seconds to wait.'),
  RateLimit: text('How many requests are left, and for how many seconds, where the service limits them.'),
  'RateLimit-Policy': text('How many requests are allowed in how many seconds.'),
  'X-Count': count('How many there are on all pages.'),
  'X-Page': count('The number of the page, from 1.'),
  'X-PageSize': count('How many a page has.'),
  'X-Next': text('The address of the next page, or the word `None`.'),
  'X-Previous': text('The address of the page before, or the word `None`.'),
  ETag: text('Names this state of what was read: for `If-Match` and `If-None-Match`.'),
  Location: text('Where what was made is read.'),
  'Idempotency-Replayed': text('`true` where this is the answer to an earlier request with that key.'),
  Link: text('The first, last, next and previous page (RFC 8288).'),
  'Content-Disposition': text('Names the file, where the answer is CSV.'),
};
type HeaderName = keyof typeof HEADERS;

/** Of every answer that comes from a procedure. */
export const ALWAYS: HeaderName[] = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
const PAGE: HeaderName[] = ['X-Count', 'X-Page', 'X-PageSize', 'X-Next', 'X-Previous', 'Link'];

export const headersNamed = (...names: HeaderName[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Those of a page come when a page was asked for. */
export const headersOf = (endpoint: Endpoint): JsonSchema => {
  const { input, csv, rest, method, isPublic } = endpoint;
  return headersNamed(
    ...ALWAYS,
    ...('page' in input.shape ? PAGE : []),
    ...(isTagged(endpoint) || mayBeMinimal(endpoint) ? (['ETag'] as const) : []),
    ...(rest.status === 201 && rest.resource ? (['Location'] as const) : []),
    ...(method === 'GET' || isPublic ? [] : (['Idempotency-Replayed'] as const)),
    ...(csv ? (['Content-Disposition'] as const) : []),
  );
};
