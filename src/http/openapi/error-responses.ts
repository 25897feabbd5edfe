import { Problem, type ProblemCode, titleOf } from '../../lib/problems.ts';
import type { Endpoint } from '../rest/endpoints.ts';
import { HTML_TYPE } from '../rest/negotiation.ts';
import { isConditional } from './conditions.ts';
import { wordingOfProcedure } from './descriptions/all.ts';
import { headersNamed } from './headers.ts';
import type { JsonSchema } from './json-schemas.ts';
import { nameOf } from './request-body.ts';

/** Whatever is asked for. Some of it is found before anybody knows what that is. */
const ANYWHERE: readonly ProblemCode[] = [
  ...(['malformed-request', 'malformed-body', 'invalid-input'] as const),
  ...(['not-acceptable', 'request-timeout', 'body-too-large', 'unsupported-media-type'] as const),
  ...(['rate-limited', 'headers-too-large'] as const),
  ...(['internal-error', 'database-unavailable', 'overloaded'] as const),
];
const BY_PATH: readonly ProblemCode[] = ['malformed-path', 'not-found', 'path-too-long'];

const codesOf = (endpoint: Endpoint): ProblemCode[] => [
  ...codesFor(endpoint),
  ...(endpoint.method === 'GET' || endpoint.isPublic ? [] : (['idempotency-key-reused'] as const)),
  ...(isConditional(endpoint) ? (['precondition-failed'] as const) : []),
];

const codesFor = ({ procedure, pathKeys, isPublic, role, method }: Endpoint): ProblemCode[] => [
  ...ANYWHERE,
  ...(pathKeys.length > 0 ? BY_PATH : []),
  ...(isPublic ? [] : (['unauthenticated'] as const)),
  ...(method === 'GET' ? [] : (['cross-site'] as const)),
  ...(method === 'GET' || isPublic ? [] : (['csrf-failed'] as const)),
  ...(role ? (['forbidden'] as const) : []),
  ...(wordingOfProcedure(procedure).problems ?? []),
];

/** Status → a response that all operations with the same failures share. */
export const createFailures = () => {
  const components: Record<string, JsonSchema> = {};
  const failuresOf = (endpoint: Endpoint): Record<string, JsonSchema> => {
    const byStatus = Map.groupBy(new Set(codesOf(endpoint)), (code) => new Problem(code).status);
    return Object.fromEntries(
      [...byStatus].map(([status, codes]) => {
        const name = nameOfFailures(status, codes);
        components[name] ??= response(status, codes);
        return [String(status), { $ref: `#/components/responses/${name}` }];
      }),
    );
  };
  return { components, failuresOf };
};

const nameOfFailures = (status: number, codes: readonly ProblemCode[]): string => {
  const own = codes.filter((code) => !ANYWHERE.includes(code)).toSorted();
  return `Problem${status}${own.map((code) => nameOf(code.replaceAll(/[-_]/g, '.'))).join('')}`;
};

const response = (status: number, codes: readonly ProblemCode[]): JsonSchema => ({
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
  ...headersNamed('X-Request-Id'),
  ...(status === 401 && { 'WWW-Authenticate': { schema: { const: 'Token' } } }),
  ...((status === 429 || status === 503) && headersNamed('Retry-After')),
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
      description: 'What to tell failures apart by: `urn:steward:problem:` and a code.',
    },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'One sentence for people.' },
    instance: { type: 'string', description: 'The id of the request, as in `X-Request-Id`.' },
    errors: {
      type: 'object',
      description: 'What is wrong with each field; for an array body by the index of the element first.',
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
        '`detail` again, for wrong credentials only: clients of Django REST framework read it here.',
    },
  },
};
