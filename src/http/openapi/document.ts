import { restEndpoints } from '../rest/endpoints.ts';
import { COMPONENTS } from './components.ts';
import { CONDITIONS } from './conditions.ts';
import { createFailures, PROBLEM } from './error-responses.ts';
import examples from './examples.json' with { type: 'json' };
import { HEADERS } from './headers.ts';
import { createJsonSchemas, type JsonSchema } from './json-schemas.ts';
import { operationOf } from './operation.ts';
import { OTHER_PATHS } from './other-paths.ts';
import { tagObjects } from './tags.ts';

const DESCRIPTION = `Administration of users, clients and apps.

Log in at \`POST /api/v1/api-token-auth/\` and send the token as \`Authorization: Token …\`. Paths work with and without
their last slash. Failures are problem documents (RFC 9457) with a code to tell them apart. Every operation can be called
by tRPC too, under the name that it gives.`;

/** OpenAPI 3.1 of what is served, made of the procedures themselves. */
export const openApiDocument = (version: string): JsonSchema => {
  const schemas = createJsonSchemas(COMPONENTS);
  const failures = createFailures();
  const paths: Record<string, JsonSchema> = {};
  for (const endpoint of restEndpoints()) {
    const path = endpoint.url.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][endpoint.method.toLowerCase()] = operationOf(endpoint, { schemas, failures });
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
    tags: tagObjects(),
    paths: { ...paths, ...OTHER_PATHS },
    components: {
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'The word `Token`, a space, and the token. `Bearer` and `JWT` are taken as well.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'steward_session',
          description: 'Of a browser. Changes need the header `X-CSRFToken` too.',
        },
      },
      parameters: CONDITIONS,
      headers: HEADERS,
      responses: failures.components,
      schemas: { Problem: PROBLEM, ...withExamples(schemas.components) },
    },
  };
};

/** As the demo workspace has them. */
const EXAMPLES: Record<string, unknown> = examples;

const withExamples = (components: Record<string, JsonSchema>): Record<string, JsonSchema> =>
  Object.fromEntries(
    Object.entries(components).map(([name, schema]) => [
      name,
      name in EXAMPLES ? { ...schema, examples: [EXAMPLES[name]] } : schema,
    ]),
  );
