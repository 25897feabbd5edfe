import type { z } from 'zod';
import { Problem, type ProblemCode } from '../../lib/problems.ts';
import {
  acceptsIfMatch,
  canHaveBody,
  type Endpoint,
  hasEtag,
  isIdempotent,
  returnsResource,
} from '../rest/endpoints.ts';
import { HTML_TYPE, responseTypesOf } from '../rest/negotiation.ts';
import { PROBLEM_TYPE, problemDocument, problemUrn } from '../rest/problem-document.ts';
import { componentName, type JsonSchema, type JsonSchemas, responseSchema } from './json-schemas.ts';

const stringHeader = (description: string): JsonSchema => ({ description, schema: { type: 'string' } });
const countHeader = (description: string): JsonSchema => ({
  description,
  schema: { type: 'integer', minimum: 0 },
});

/** Response headers for callers. */
export const HEADERS = {
  'X-Request-Id': stringHeader('The ID of the request, as in the logs.'),
  'Retry-After': countHeader('Seconds to wait before the next attempt.'),
  RateLimit: stringHeader(
    'The remaining requests and the seconds until the limit resets, if requests are limited.',
  ),
  'RateLimit-Policy': stringHeader('The allowed requests per window, and the window in seconds.'),
  'X-Count': countHeader('The number of items on all pages.'),
  'X-Page': countHeader('The number of the page, starting at 1.'),
  'X-PageSize': countHeader('The number of items per page.'),
  'X-Next': stringHeader('The URL of the next page, or `None`.'),
  'X-Previous': stringHeader('The URL of the previous page, or `None`.'),
  ETag: stringHeader('The version of the resource, for `If-Match` and `If-None-Match`.'),
  Location: stringHeader('The URL of the created resource.'),
  'Idempotency-Replayed': stringHeader(
    '`true` if this is the stored response to an earlier request with the same key.',
  ),
  Link: stringHeader('The first, last, next and previous page (RFC 8288).'),
  'Content-Disposition': stringHeader('The file name of a CSV response.'),
};
type HeaderName = keyof typeof HEADERS;

const COMMON_HEADERS: HeaderName[] = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
const PAGE_HEADERS: HeaderName[] = ['X-Count', 'X-Page', 'X-PageSize', 'X-Next', 'X-Previous', 'Link'];

export const headerRefs = (...names: HeaderName[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/**
 * The successful responses by status, for a request without `Accept`, `?format=` and `Prefer`. Generated clients build the type of a
 * response from all content types and statuses: pages, CSV and the 204 of `Prefer: return=minimal` would be part of every type.
 */
export const responsesOf = (endpoint: Endpoint, schemas: JsonSchemas): Record<string, JsonSchema> => {
  const { status = 200 } = endpoint.rest;
  if (status === 204) {
    const noContent = { description: 'Success, without content.', headers: headerRefs(...COMMON_HEADERS) };
    return canHaveBody(endpoint)
      ? { 200: responseWithBody(endpoint, schemas, ['application/json']), 204: noContent }
      : { 204: noContent };
  }
  return {
    [status]: responseWithBody(endpoint, schemas, responseTypesOf(endpoint)),
    ...(hasEtag(endpoint) && { 304: { description: 'Not modified.', headers: headerRefs('ETag') } }),
  };
};

const responseWithBody = (endpoint: Endpoint, schemas: JsonSchemas, contentTypes: readonly string[]) => {
  const schema = bodySchema(endpoint, schemas);
  const jsonTypes = contentTypes.filter(isJsonType);
  const isDownload = jsonTypes.length === 0;
  const content = isDownload
    ? contentTypes.map((type) => [type, { schema: { type: 'string' } }])
    : jsonTypes.map((type) => [type, { schema }]);
  return {
    description: `Success.${returnsResource(endpoint) && endpoint.rest.status !== 201 ? MINIMAL : ''}`,
    headers: headersOf(endpoint),
    content: Object.fromEntries(content),
    ...(!isDownload && onRequest(contentTypes.filter((type) => !isJsonType(type)))),
  };
};

const MINIMAL = ' With `Prefer: return=minimal`, 204 without content.';

const isJsonType = (type: string): boolean => type.endsWith('/json');

/** The content types that callers get only if `Accept` or `?format=` asks for them. */
export const onRequest = (contentTypes: readonly string[]): JsonSchema =>
  contentTypes.length === 0 ? {} : { 'x-steward-content-types': contentTypes };

/** Bulk operations respond with an object or an array, like the request. */
const bodySchema = ({ output, rest, procedure }: Endpoint, { convert }: JsonSchemas): JsonSchema => {
  const schema = responseSchema(output);
  const name = schema.def.type === 'object' ? `${componentName(procedure)}Response` : undefined;
  const json = convert(schema, 'output', name);
  return rest.many !== undefined && schema.def.type === 'array'
    ? { oneOf: [convert((schema as z.ZodArray<z.ZodType>).element, 'output'), json] } // the type was checked above
    : json;
};

const headersOf = (endpoint: Endpoint): JsonSchema => {
  const { input, csv, rest } = endpoint;
  return {
    ...headerRefs(...COMMON_HEADERS),
    ...('page' in input.shape && headerRefs(...PAGE_HEADERS)),
    ...((hasEtag(endpoint) || returnsResource(endpoint)) && headerRefs('ETag')),
    ...(rest.status === 201 && rest.resourceQuery && headerRefs('Location')),
    ...(isIdempotent(endpoint) && headerRefs('Idempotency-Replayed')),
    ...((csv || rest.download) && headerRefs('Content-Disposition')),
  };
};

/** Problems of every operation. Some occur before the request is routed. */
const COMMON_CODES: readonly ProblemCode[] = [
  'malformed-request',
  'malformed-body',
  'invalid-input',
  'not-acceptable',
  'request-timeout',
  'body-too-large',
  'unsupported-media-type',
  'rate-limited',
  'headers-too-large',
  'internal-error',
  'database-unavailable',
  'overloaded',
];
const PATH_CODES: readonly ProblemCode[] = ['malformed-path', 'not-found', 'path-too-long'];

const codesOf = (endpoint: Endpoint): Set<ProblemCode> => {
  const { pathKeys, isPublic, role, reach, method, rest } = endpoint;
  const codes = new Set(COMMON_CODES);
  if (pathKeys.length > 0) for (const code of PATH_CODES) codes.add(code);
  if (!isPublic) codes.add('unauthenticated').add('insufficient-scope');
  if (method !== 'GET') codes.add('cross-site');
  if (isIdempotent(endpoint)) codes.add('csrf-failed');
  if (role) codes.add('forbidden');
  // A user who manages others may address their own account, which a confined session must not change.
  if (!isPublic && (role || reach !== 'client')) codes.add('confined-session');
  for (const code of rest.problems ?? []) codes.add(code);
  if (isIdempotent(endpoint)) codes.add('idempotency-key-reused');
  if (acceptsIfMatch(endpoint)) codes.add('precondition-failed');
  return codes;
};

/** Creates error responses by status. Operations with the same problems share a component. */
export const createErrorResponses = () => {
  const components: Record<string, JsonSchema> = {};
  const errorResponsesOf = (endpoint: Endpoint): Record<string, JsonSchema> => {
    const byStatus = Map.groupBy(codesOf(endpoint), (code) => statusOf(code, endpoint));
    return Object.fromEntries(
      [...byStatus].map(([status, codes]) => {
        const name = responseName(status, codes);
        components[name] ??= errorResponse(status, codes);
        return [String(status), { $ref: `#/components/responses/${name}` }];
      }),
    );
  };
  return { components, errorResponsesOf };
};

/** If a second factor is needed, logins answer with 400, as for other missing credentials. */
const statusOf = (code: ProblemCode, { isPublic }: Endpoint): number =>
  isPublic && code === 'second-factor-required' ? 400 : new Problem(code).status;

const responseName = (status: number, codes: readonly ProblemCode[]): string => {
  const specific = codes.filter((code) => !COMMON_CODES.includes(code)).toSorted();
  return `Problem${status}${specific.map((code) => componentName(code.replaceAll(/[-_]/g, '.'))).join('')}`;
};

const errorResponse = (status: number, codes: readonly ProblemCode[]): JsonSchema => ({
  description: codes.map((code) => `\`${code}\`: ${new Problem(code).message}`).join('\n\n'),
  headers: errorHeadersOf(status),
  content: {
    [PROBLEM_TYPE]: {
      schema: {
        allOf: [
          { $ref: '#/components/schemas/Problem' },
          {
            type: 'object',
            properties: { type: { enum: codes.map(problemUrn) }, status: { const: status } },
          },
        ],
      },
      examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code, status) }])),
    },
  },
  ...onRequest([HTML_TYPE]),
});

const errorHeadersOf = (status: number): JsonSchema => ({
  ...headerRefs('X-Request-Id'),
  ...(status === 401 && { 'WWW-Authenticate': { schema: { const: 'Token' } } }),
  ...(status === 403 && { 'WWW-Authenticate': { schema: { type: 'string' } } }),
  ...((status === 429 || status === 503) && headerRefs('Retry-After')),
});

const exampleOf = (code: ProblemCode, status: number): unknown => {
  const extras = code === 'invalid-input' ? { fields: { email: ['Must be an email address.'] } } : {};
  return JSON.parse(
    problemDocument(
      new Problem(code, { ...extras, ...(status === 400 && { status }) }),
      '6f1f0f5c-6d0b-4a53-9d0b-3f5a4f0c8a11',
    ),
  );
};

/** RFC 9457. */
export const PROBLEM: JsonSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance'],
  properties: {
    type: {
      type: 'string',
      description: 'Identifies the kind of problem: `urn:steward:problem:` and a code.',
    },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: {
      type: 'string',
      description: 'A message for people. For invalid input, the first error, and how many follow.',
    },
    instance: { type: 'string', description: 'The ID of the request, as in `X-Request-Id`.' },
    errors: {
      type: 'object',
      description:
        'Error messages by field; for an array body, by the index of the element and then by field.',
      additionalProperties: {
        oneOf: [
          { type: 'array', items: { type: 'string' } },
          { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
        ],
      },
    },
    non_field_errors: {
      type: 'array',
      items: { type: 'string' },
      description:
        'The same as `detail`, for invalid or missing credentials of a login, and invalid tokens, only. Clients of Django REST framework read it here.',
    },
  },
};
