import type { JsonSchema } from './json-schemas.ts';
import { headerRefs } from './responses.ts';

const objectWith = (name: string, value?: string): JsonSchema => ({
  type: 'object',
  required: [name],
  properties: { [name]: value === undefined ? { type: 'string' } : { const: value } },
});

type Extras = { content?: JsonSchema; errors?: JsonSchema };

const operation = (operationId: string, summary: string, schema: JsonSchema, extras: Extras = {}) => ({
  get: {
    operationId,
    summary,
    tags: ['Service'],
    security: [],
    'x-steward-extension': true,
    responses: {
      200: {
        description: summary,
        headers: headerRefs('X-Request-Id'),
        content: { 'application/json': { schema }, ...extras.content },
      },
      431: { $ref: '#/components/responses/Problem431' },
      ...extras.errors,
    },
  },
});

const PAGE: JsonSchema = { 'text/html': { schema: { type: 'string' } } };

/** Paths that are not procedures. */
export const OTHER_PATHS: JsonSchema = {
  '/api/v1/': operation(
    'index',
    'List the URLs of all paths without parameters',
    {
      type: 'object',
      additionalProperties: { type: 'string', format: 'uri' },
    },
    { content: PAGE, errors: { 406: { $ref: '#/components/responses/Problem406' } } },
  ),
  '/api/v1/csrf/': operation('csrf', 'Get a CSRF token and its cookie', objectWith('csrf_token')),
  '/api/v1/openapi.json': operation('openapi', 'Get this document', { type: 'object' }),
  '/healthz': operation('healthz', 'Check that the process is alive', objectWith('status', 'ok')),
  '/readyz': operation(
    'readyz',
    'Check that the database is reachable, migrated and writable',
    objectWith('status', 'ready'),
    {
      errors: {
        503: {
          description: 'Not ready: `database-unavailable` or `stopping`.',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
  ),
};
