import { z } from 'zod';
import {
  acceptsIfMatch,
  canHaveBody,
  type Endpoint,
  endpointOf,
  hasEtag,
  inputKeysOf,
  isIdempotent,
  returnsResource,
} from '../rest/endpoints.ts';
import { formatNames, responseTypesOf } from '../rest/negotiation.ts';
import { FIELD_EXAMPLES } from './examples.ts';
import { inputName, type JsonSchema, type JsonSchemas, requestSchema } from './json-schemas.ts';
import { type createErrorResponses, responsesOf } from './responses.ts';

/** The tag of operations that the replaced service does not have. */
export const EXTENSION_TAG = 'Extensions';

type SharedComponents = { schemas: JsonSchemas; errors: ReturnType<typeof createErrorResponses> };

export const operationOf = (endpoint: Endpoint, { schemas, errors }: SharedComponents): JsonSchema => {
  const { procedure, operationId, summary, description, rest, tags, isPublic, scopes } = endpoint;
  const requestBody = requestBodyOf(endpoint, schemas);
  const parameters = parametersOf(endpoint, schemas);
  return {
    operationId,
    summary,
    description: [
      original(endpoint),
      description,
      rest.problems?.includes('reauthentication-required') && RECENT_PASSWORD,
      requiredRole(endpoint),
      !isPublic && `Tokens with scopes need ${scopes.map((scope) => `\`${scope}\``).join(' and ')}.`,
      `tRPC: \`${procedure}\`.`,
    ]
      .filter(Boolean)
      .join('\n\n'),
    tags: [...tags, ...(rest.legacy ? [] : [EXTENSION_TAG])],
    ...(!rest.legacy && { 'x-steward-extension': true }),
    ...(isPublic ? { security: [] } : { 'x-steward-scope': scopes.join(' ') }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: { ...responsesOf(endpoint, schemas), ...errors.errorResponsesOf(endpoint) },
  };
};

const RECENT_PASSWORD =
  'A browser session must have entered its password within the last 15 minutes; otherwise, confirm it with `POST /api/v1/session/confirm/` first.';

const original = ({ isAlias, procedure }: Endpoint): string => {
  if (!isAlias) return '';
  const { method, url } = endpointOf(procedure);
  return `Same as \`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}\`.`;
};

const requiredRole = ({ isPublic, role }: Endpoint): string => {
  if (isPublic) return 'Requires no login.';
  return role ? `Requires the role ${role}.` : 'For all users.';
};

const parametersOf = (endpoint: Endpoint, { convert }: JsonSchemas): JsonSchema[] => {
  const schemaOf = (key: string) => endpoint.input.shape[key] as z.ZodType; // path and query keys are keys of the shape
  return [
    ...endpoint.pathKeys.map((name) => {
      const schema = convert(schemaOf(name), 'input');
      const hasExample = name in FIELD_EXAMPLES && !('examples' in schema);
      const example = hasExample && { example: FIELD_EXAMPLES[name] };
      return { name, in: 'path', required: true, schema, ...example };
    }),
    ...inputKeysOf(endpoint).query.map((name) => ({
      name,
      in: 'query',
      required: !schemaOf(name).safeParse(undefined).success,
      ...(name === endpoint.rest.dotted
        ? dottedParameter(name)
        : { schema: convert(schemaOf(name), 'input') }),
    })),
    ...(endpoint.method === 'GET' && !endpoint.rest.download && !endpoint.rest.isEventStream
      ? [formatParameter(endpoint)]
      : []),
    ...headerParametersOf(endpoint),
  ];
};

/** An object whose properties are query parameters with a prefix: its name and a dot. */
const dottedParameter = (name: string): JsonSchema => ({
  style: 'form',
  explode: true,
  schema: { type: 'object', patternProperties: { [`^${name}\\.`]: { type: 'string' } } },
});

const formatParameter = (endpoint: Endpoint): JsonSchema => ({
  name: 'format',
  in: 'query',
  required: false,
  description: 'Overrides the `Accept` header.',
  // A pattern instead of an enum, because Scalar always sends the first value of an enum.
  schema: { type: 'string', pattern: `^(${formatNames(responseTypesOf(endpoint)).join('|')})$` },
});

const HEADER_DESCRIPTIONS = {
  'Idempotency-Key':
    'A unique key of your choice. A repeated request with the same key within 24 hours returns the first response and changes nothing.',
  'If-Match':
    'The `ETag` that you have read. The request fails with 412 if the resource has changed since then.',
  'If-None-Match': 'The `ETag` that you have cached. The response is 304 if the resource has not changed.',
  Prefer: '`return=minimal` omits the body of the response, `return=representation` includes it.',
};

/** Request headers that make a request conditional or idempotent, or its response minimal. */
export const HEADER_PARAMETERS: JsonSchema = Object.fromEntries(
  Object.entries(HEADER_DESCRIPTIONS).map(([name, description]) => [
    name,
    { name, in: 'header', required: false, description, schema: { type: 'string' } },
  ]),
);

const headerParametersOf = (endpoint: Endpoint): JsonSchema[] =>
  [
    isIdempotent(endpoint) && 'Idempotency-Key',
    acceptsIfMatch(endpoint) && 'If-Match',
    hasEtag(endpoint) && 'If-None-Match',
    (returnsResource(endpoint) || canHaveBody(endpoint)) && 'Prefer',
  ]
    .filter((name) => name !== false)
    .map((name) => ({ $ref: `#/components/parameters/${name}` }));

const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'];

/** The request body, or undefined if the operation has none. */
const requestBodyOf = (endpoint: Endpoint, { convert }: JsonSchemas): JsonSchema | undefined => {
  const { rest, input } = endpoint;
  const bodyKeys = inputKeysOf(endpoint).body;
  if (bodyKeys.length === 0) return undefined;
  const name = inputName(endpoint.procedure);
  if (rest.many !== undefined) {
    const array = requestSchema(input.shape[rest.many] as z.ZodType) as z.ZodArray<z.ZodType>; // an array, see ProcedureMeta
    const element = requestSchema(array.element);
    return bodyOf(endpoint, {
      oneOf: [convert(element, 'input', name), convert(arrayLike(array, element), 'input')],
    });
  }
  const content =
    rest.body === undefined
      ? z.object(Object.fromEntries(bodyKeys.map((key) => [key, input.shape[key] as z.ZodType])))
      : (input.shape[rest.body] as z.ZodType); // the object that is the body
  return bodyOf(endpoint, convert(content, 'input', name), !content.safeParse({}).success);
};

/** An array of `element` with the length limits of another array. */
const arrayLike = ({ def }: z.ZodArray<z.ZodType>, element: z.ZodType): z.ZodType =>
  z.array(element).check(...((def.checks ?? []) as z.core.$ZodCheck<unknown[]>[])); // checks of an array concern its length

const bodyOf = ({ rest }: Endpoint, schema: JsonSchema, required = true): JsonSchema => ({
  required,
  content: Object.fromEntries(
    ['application/json', ...(rest.forms ? FORM_TYPES : [])].map((type) => [type, { schema }]),
  ),
});
