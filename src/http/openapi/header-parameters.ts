import type { Endpoint } from '../rest/endpoints.ts';
import type { JsonSchema } from './json-schemas.ts';

const headerParameter = (name: string, description: string): JsonSchema => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
});

/** Request headers that make a request conditional, idempotent or its response minimal. */
export const HEADER_PARAMETERS = {
  'Idempotency-Key': headerParameter(
    'Idempotency-Key',
    'A unique key of your choice. A repeated request with the same key within 24 hours returns the first response and changes nothing.',
  ),
  'If-Match': headerParameter(
    'If-Match',
    'The `ETag` that you have read. The request fails with 412 if the resource has changed since then.',
  ),
  'If-None-Match': headerParameter(
    'If-None-Match',
    'The `ETag` that you have cached. The response is 304 if the resource has not changed.',
  ),
  Prefer: headerParameter(
    'Prefer',
    '`return=minimal` omits the body of the response, `return=representation` includes it.',
  ),
};
type HeaderParameterName = keyof typeof HEADER_PARAMETERS;

export const headerParametersOf = (endpoint: Endpoint): JsonSchema[] => {
  const names: HeaderParameterName[] = [
    ...(endpoint.method === 'GET' || endpoint.isPublic ? [] : (['Idempotency-Key'] as const)),
    ...(acceptsIfMatch(endpoint) ? (['If-Match'] as const) : []),
    ...(hasEtag(endpoint) ? (['If-None-Match'] as const) : []),
    ...(canBeMinimal(endpoint) || canHaveBody(endpoint) ? (['Prefer'] as const) : []),
  ];
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
};

/** Whether a GET returns a single object. Pages of lists have no ETag. */
export const hasEtag = ({ method, output, input }: Endpoint): boolean =>
  method === 'GET' && ['object', 'union'].includes(output.def.type) && !('cursor' in input.shape);

export const acceptsIfMatch = ({ method, rest }: Endpoint): boolean =>
  rest.resource !== undefined && method !== 'POST';

/** Whether `Prefer: return=minimal` omits the body. */
export const canBeMinimal = ({ method, rest }: Endpoint): boolean =>
  rest.resource !== undefined && (method === 'PATCH' || (method === 'POST' && rest.status === 201));

/** Whether `Prefer: return=representation` turns a 204 into a 200 with a body. */
export const canHaveBody = ({ rest, output }: Endpoint): boolean =>
  rest.status === 204 && output.def.type !== 'void';
