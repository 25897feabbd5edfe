import { REST_ENDPOINTS } from '../rest/endpoints.ts';
import { HTML_TYPE } from '../rest/negotiation.ts';
import { withExamples } from './examples.ts';
import { createJsonSchemas, inputName, type JsonSchema } from './json-schemas.ts';
import { EXTENSION_TAG, HEADER_PARAMETERS, operationOf } from './operation.ts';
import { createErrorResponses, HEADERS, headerRefs, onRequest, PROBLEM } from './responses.ts';

const DESCRIPTION = `Administration of users, clients and apps.

Get a token with \`POST /api/v1/api-token-auth/\` and send it as \`Authorization: Token …\`. Trailing slashes are optional.
Responses are JSON unless \`Accept\` or \`?format=\` ask for another type; \`x-steward-content-types\` lists the others.
Errors are problem documents (RFC 9457) whose \`type\` ends with a stable code. Every operation is also a tRPC procedure; its
description contains the name.`;

/** In the order of the reference. */
const TAGS: Record<string, string> = {
  Token: 'API tokens for scripts and platforms.',
  Sites: 'The domains of clients.',
  Clients: 'Tenants: their texts, password policies, users and apps.',
  Users: 'Users and the apps that they can open.',
  Invitations: 'Inviting users, and the status of invitations.',
  Apps: 'Apps and their usage.',
  'App fetch and load': 'Deploying new versions of apps, and rolling back.',
  'Saved global filters': 'Filter settings that users save for themselves.',
  Environment: 'The running environment.',
  Sessions: 'Browser sessions.',
  Passwords: 'Changing, resetting and checking passwords.',
  Branding: 'Texts of the public pages of a client.',
  Roles: 'Staff, superusers and client admins.',
  Audit: 'The audit trail of changes.',
  Mails: 'Sent, waiting and failed mails.',
  'List views': 'Saved views of the lists of the console.',
  Service: 'Health checks and descriptions of the service.',
  [EXTENSION_TAG]: 'Operations that the legacy API does not have.',
};

/** The OpenAPI 3.1 document of the service, generated from the procedures. */
export const openApiDocument = (version: string): JsonSchema => {
  const schemas = createJsonSchemas();
  const errors = createErrorResponses();
  const paths: Record<string, JsonSchema> = {};
  const inputExamples: Record<string, object | undefined> = {};
  for (const endpoint of REST_ENDPOINTS) {
    inputExamples[inputName(endpoint.procedure)] = endpoint.rest.example;
    const path = endpoint.url.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][endpoint.method.toLowerCase()] = operationOf(endpoint, { schemas, errors });
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Steward',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }, { session: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: { ...paths, ...OTHER_PATHS },
    components: {
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: '`Token`, a space, and the token. `Bearer` and `JWT` are accepted too.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'steward_session',
          description: 'The session of a browser. Changes also need the header `X-CSRFToken`.',
        },
      },
      parameters: HEADER_PARAMETERS,
      headers: HEADERS,
      responses: errors.components,
      schemas: { Problem: PROBLEM, ...withExamples(schemas.components, inputExamples) },
    },
  };
};

const objectWith = (name: string, value?: string): JsonSchema => ({
  type: 'object',
  required: [name],
  properties: { [name]: value === undefined ? { type: 'string' } : { const: value } },
});

type Extras = { response?: JsonSchema; errors?: JsonSchema };

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
        content: { 'application/json': { schema } },
        ...extras.response,
      },
      431: { $ref: '#/components/responses/Problem431' },
      ...extras.errors,
    },
  },
});

const PAGE = onRequest([HTML_TYPE]);

const LIVENESS = 'Check that the process is alive and can use its database connections';
const READINESS = 'Check that the database is reachable, migrated and writable';
const NOT_READY: Extras = {
  errors: {
    503: {
      description: 'Not available: `database-unavailable`, `overloaded` or `stopping`.',
      content: {
        'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
      },
      ...PAGE,
    },
  },
};

/** Paths that are not procedures. */
const OTHER_PATHS: JsonSchema = {
  '/api/v1/': operation(
    'index',
    'List the URLs of all paths without parameters',
    { type: 'object', additionalProperties: { type: 'string', format: 'uri' } },
    { response: PAGE, errors: { 406: { $ref: '#/components/responses/Problem406' } } },
  ),
  '/api/v1/csrf/': operation('csrf', 'Get a CSRF token and its cookie', objectWith('csrf_token')),
  '/api/v1/openapi.json': operation(
    'openapi',
    'Get this document',
    { type: 'object' },
    { errors: { 304: { description: 'Not modified.', headers: headerRefs('ETag') } } },
  ),
  '/healthz': operation('healthz', LIVENESS, objectWith('status', 'ok'), NOT_READY),
  '/readyz': operation('readyz', READINESS, objectWith('status', 'ready'), NOT_READY),
  '/api/v1/status/': operation('status', READINESS, objectWith('status', 'ready'), NOT_READY),
};
