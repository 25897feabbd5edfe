import { Problem, type ProblemCode, titleOf } from '../../lib/problems.ts';
import type { Endpoint } from '../rest/endpoints.ts';
import { HTML_TYPE } from '../rest/negotiation.ts';
import { describeProcedure } from './descriptions/index.ts';
import { acceptsIfMatch } from './header-parameters.ts';
import { componentName, type JsonSchema } from './json-schemas.ts';
import { headerRefs } from './responses.ts';

/** Problems of every operation. Some occur before the request is routed. */
const COMMON_CODES: readonly ProblemCode[] = [
  ...(['malformed-request', 'malformed-body', 'invalid-input'] as const),
  ...(['not-acceptable', 'request-timeout', 'body-too-large', 'unsupported-media-type'] as const),
  ...(['rate-limited', 'headers-too-large'] as const),
  ...(['internal-error', 'database-unavailable', 'overloaded'] as const),
];
const PATH_CODES: readonly ProblemCode[] = ['malformed-path', 'not-found', 'path-too-long'];

const codesOf = (endpoint: Endpoint): ProblemCode[] => [
  ...codesFor(endpoint),
  ...(endpoint.method === 'GET' || endpoint.isPublic ? [] : (['idempotency-key-reused'] as const)),
  ...(acceptsIfMatch(endpoint) ? (['precondition-failed'] as const) : []),
];

const codesFor = ({ procedure, pathKeys, isPublic, role, method }: Endpoint): ProblemCode[] => [
  ...COMMON_CODES,
  ...(pathKeys.length > 0 ? PATH_CODES : []),
  ...(isPublic ? [] : (['unauthenticated'] as const)),
  ...(method === 'GET' ? [] : (['cross-site'] as const)),
  ...(method === 'GET' || isPublic ? [] : (['csrf-failed'] as const)),
  ...(role ? (['forbidden'] as const) : []),
  ...(describeProcedure(procedure).problems ?? []),
];

/** Creates error responses by status. Operations with the same problems share a component. */
export const createErrorResponses = () => {
  const components: Record<string, JsonSchema> = {};
  const errorResponsesOf = (endpoint: Endpoint): Record<string, JsonSchema> => {
    const byStatus = Map.groupBy(new Set(codesOf(endpoint)), (code) => new Problem(code).status);
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
    'application/problem+json': {
      schema: {
        allOf: [
          { $ref: '#/components/schemas/Problem' },
          {
            type: 'object',
            properties: { type: { enum: codes.map(urnOf) }, status: { const: status } },
          },
        ],
      },
      examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
    },
    [HTML_TYPE]: { schema: { type: 'string' } },
  },
});

const headersOf = (status: number): JsonSchema => ({
  ...headerRefs('X-Request-Id'),
  ...(status === 401 && { 'WWW-Authenticate': { schema: { const: 'Token' } } }),
  ...((status === 429 || status === 503) && headerRefs('Retry-After')),
});

const urnOf = (code: ProblemCode): string => `urn:steward:problem:${code}`;

const exampleOf = (code: ProblemCode): JsonSchema => {
  const { status, message } = new Problem(code);
  return {
    type: urnOf(code),
    title: titleOf(code),
    status,
    detail: message,
    instance: '6f1f0f5c-6d0b-4a53-9d0b-3f5a4f0c8a11',
    ...(code === 'invalid-credentials' && { non_field_errors: [message] }),
    ...(code === 'invalid-input' && { errors: { email: ['Must be an email address.'] } }),
  };
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
    detail: { type: 'string', description: 'A message for people.' },
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
        'The same as `detail`, for invalid credentials only. Clients of Django REST framework read it here.',
    },
  },
};
