import { ROLES } from '../../lib/problems.ts';
import { type Endpoint, endpointOf } from '../rest/endpoints.ts';
import { describeProcedure } from './descriptions/index.ts';
import type { createErrorResponses } from './error-responses.ts';
import type { JsonSchema, JsonSchemas } from './json-schemas.ts';
import { parametersOf, requestBodyOf } from './request.ts';
import { responsesOf } from './responses.ts';

/** The tag of operations that the legacy API does not have. */
const EXTENSION_TAG = 'Extensions';

type SharedComponents = {
  schemas: JsonSchemas;
  errors: ReturnType<typeof createErrorResponses>;
};

export const operationOf = (endpoint: Endpoint, { schemas, errors }: SharedComponents): JsonSchema => {
  const { procedure, operationId, rest, tags, isPublic } = endpoint;
  const { summary, description } = describeProcedure(procedure);
  const requestBody = requestBodyOf(endpoint, schemas);
  const parameters = parametersOf(endpoint, schemas);
  return {
    operationId,
    summary,
    description: [original(endpoint), description, requiredRole(endpoint), `tRPC: \`${procedure}\`.`]
      .filter(Boolean)
      .join('\n\n'),
    tags: [...tags, ...(rest.extension ? [EXTENSION_TAG] : [])],
    ...(rest.extension && { 'x-steward-extension': true }),
    ...(isPublic && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: { ...responsesOf(endpoint, schemas), ...errors.errorResponsesOf(endpoint) },
  };
};

const original = ({ isAlias, procedure }: Endpoint): string => {
  if (!isAlias) return '';
  const { method, url } = endpointOf(procedure);
  return `Same as \`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}\`.`;
};

const requiredRole = ({ isPublic, role }: Endpoint): string => {
  if (isPublic) return 'Requires no login.';
  return role ? `Requires the role ${ROLES[role]}.` : 'For all users.';
};

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
  Service: 'Health checks and descriptions of the service.',
  [EXTENSION_TAG]: 'Operations that the legacy API does not have.',
};

export const tagObjects = () => Object.entries(TAGS).map(([name, description]) => ({ name, description }));
