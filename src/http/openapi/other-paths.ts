import { headersNamed } from './headers.ts';
import type { JsonSchema } from './json-schemas.ts';

const text = (name: string, value?: string): JsonSchema => ({
  type: 'object',
  required: [name],
  properties: { [name]: value === undefined ? { type: 'string' } : { const: value } },
});

type More = { content?: JsonSchema; failures?: JsonSchema };

const operation = (operationId: string, summary: string, schema: JsonSchema, more: More = {}) => ({
  get: {
    operationId,
    summary,
    tags: ['Service'],
    security: [],
    'x-steward-extension': true,
    responses: {
      200: {
        description: summary,
        headers: headersNamed('X-Request-Id'),
        content: { 'application/json': { schema }, ...more.content },
      },
      431: { $ref: '#/components/responses/Problem431' },
      ...more.failures,
    },
  },
});

const PAGE: JsonSchema = { 'text/html': { schema: { type: 'string' } } };

/** What is served beside the procedures. */
export const OTHER_PATHS: JsonSchema = {
  '/api/v1/': operation(
    'index',
    'The address of every path that can be read without parameters',
    {
      type: 'object',
      additionalProperties: { type: 'string', format: 'uri' },
    },
    { content: PAGE, failures: { 406: { $ref: '#/components/responses/Problem406' } } },
  ),
  '/api/v1/csrf/': operation('csrf', 'A CSRF token, and its cookie', text('csrf_token')),
  '/api/v1/openapi.json': operation('openapi', 'This document', { type: 'object' }),
  '/healthz': operation('healthz', 'Whether the process answers', text('status', 'ok')),
  '/readyz': operation(
    'readyz',
    'Whether the database answers, is migrated and accepts writes',
    text('status', 'ready'),
    {
      failures: {
        503: {
          description: '`database-unavailable` or `stopping`: not ready.',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
  ),
};
