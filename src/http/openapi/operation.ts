import type { Role } from '../../../routers/trpc.ts';
import type { Endpoint } from '../rest/endpoints.ts';
import { wordingOfProcedure } from './descriptions/all.ts';
import type { createFailures } from './error-responses.ts';
import type { createJsonSchemas, JsonSchema } from './json-schemas.ts';
import { parametersOf } from './parameters.ts';
import { requestBodyOf } from './request-body.ts';
import { answersOf } from './responses.ts';

/** The tag of whatever the old service did not have. */
export const EXTENSION_TAG = 'Extensions';

const WHO: Record<Role, string> = {
  viewer: 'client admins, staff and superusers',
  admin: 'client admins and superusers',
  staff: 'staff and superusers',
  superuser: 'superusers',
};

export type Shared = {
  schemas: ReturnType<typeof createJsonSchemas>;
  failures: ReturnType<typeof createFailures>;
};

export const operationOf = (endpoint: Endpoint, { schemas, failures }: Shared): JsonSchema => {
  const { procedure, rest, tags, isPublic } = endpoint;
  const { summary, description } = wordingOfProcedure(procedure);
  const requestBody = requestBodyOf(endpoint, schemas);
  const parameters = parametersOf(endpoint, schemas.convert);
  return {
    operationId: procedure,
    summary,
    description: [description, whoMay(endpoint), `tRPC: \`${procedure}\`.`].filter(Boolean).join('\n\n'),
    tags: [...tags, ...(rest.extension ? [EXTENSION_TAG] : [])],
    ...(rest.extension && { 'x-steward-extension': true }),
    ...(isPublic && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: { ...answersOf(endpoint, schemas), ...failures.failuresOf(endpoint) },
  };
};

const whoMay = ({ isPublic, role }: Endpoint): string => {
  if (isPublic) return 'Nobody needs to be logged in.';
  return role ? `For ${WHO[role]}.` : 'For everybody who is logged in.';
};
