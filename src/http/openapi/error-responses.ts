import { Problem, type ProblemCode } from '../../lib/problems.ts';
import type { Endpoint } from '../rest/endpoints.ts';
import { HTML_TYPE } from '../rest/negotiation.ts';
import { PROBLEM_TYPE, problemDocument, problemUrn } from '../rest/problem-document.ts';
import { describeProcedure } from './descriptions/index.ts';
import { componentName, type JsonSchema } from './json-schemas.ts';
import { acceptsIfMatch, headerRefs, isIdempotent, onRequest } from './responses.ts';

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
  const { procedure, pathKeys, isPublic, role, method } = endpoint;
  const codes = new Set(COMMON_CODES);
  if (pathKeys.length > 0) for (const code of PATH_CODES) codes.add(code);
  if (!isPublic) codes.add('unauthenticated');
  if (method !== 'GET') codes.add('cross-site');
  if (isIdempotent(endpoint)) codes.add('csrf-failed');
  if (role) codes.add('forbidden');
  for (const code of describeProcedure(procedure).problems) codes.add(code);
  if (isIdempotent(endpoint)) codes.add('idempotency-key-reused');
  if (acceptsIfMatch(endpoint)) codes.add('precondition-failed');
  return codes;
};

/** Creates error responses by status. Operations with the same problems share a component. */
export const createErrorResponses = () => {
  const components: Record<string, JsonSchema> = {};
  const errorResponsesOf = (endpoint: Endpoint): Record<string, JsonSchema> => {
    const byStatus = Map.groupBy(codesOf(endpoint), (code) => new Problem(code).status);
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

const responseName = (status: number, codes: readonly ProblemCode[]): string => {
  const specific = codes.filter((code) => !COMMON_CODES.includes(code)).toSorted();
  return `Problem${status}${specific.map((code) => componentName(code.replaceAll(/[-_]/g, '.'))).join('')}`;
};

const errorResponse = (status: number, codes: readonly ProblemCode[]): JsonSchema => ({
  description: codes.map((code) => `\`${code}\`: ${new Problem(code).message}`).join('\n\n'),
  headers: headersOf(status),
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
      examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
    },
  },
  ...onRequest([HTML_TYPE]),
});

const headersOf = (status: number): JsonSchema => ({
  ...headerRefs('X-Request-Id'),
  ...(status === 401 && { 'WWW-Authenticate': { schema: { const: 'Token' } } }),
  ...((status === 429 || status === 503) && headerRefs('Retry-After')),
});

const exampleOf = (code: ProblemCode): unknown => {
  const extras = code === 'invalid-input' ? { fields: { email: ['Must be an email address.'] } } : {};
  return JSON.parse(problemDocument(new Problem(code, extras), '6f1f0f5c-6d0b-4a53-9d0b-3f5a4f0c8a11'));
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
        'The same as `detail`, for invalid credentials and tokens only. Clients of Django REST framework read it here.',
    },
  },
};
