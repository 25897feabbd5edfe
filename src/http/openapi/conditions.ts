import type { Endpoint } from '../rest/endpoints.ts';
import type { JsonSchema } from './json-schemas.ts';

/** The headers by which callers set conditions. */
export const CONDITIONS = {
  'Idempotency-Key': header(
    'Idempotency-Key',
    'Of your own choice. Sent again within 24 hours, the request gets its first answer and is not done again.',
  ),
  'If-Match': header(
    'If-Match',
    'The `ETag` that you have read: nothing is changed if it is another by now.',
  ),
  'If-None-Match': header('If-None-Match', 'The `ETag` that you have: 304 if it is still the same.'),
  Prefer: header(
    'Prefer',
    '`return=minimal` spares the answer its body, `return=representation` gives it one.',
  ),
};
export type ConditionName = keyof typeof CONDITIONS;

function header(name: string, description: string): JsonSchema {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } };
}

/** Whether a `GET` answers one object, which has a tag; a page of a list has none. */
export const isTagged = ({ method, output, input }: Endpoint): boolean =>
  method === 'GET' && ['object', 'union'].includes(output.def.type) && !('cursor' in input.shape);

/** Whether an answer that has a body may come without it. */
export const mayBeMinimal = ({ method, rest }: Endpoint): boolean =>
  rest.resource !== undefined && (method === 'PATCH' || (method === 'POST' && rest.status === 201));

export const isConditional = ({ method, rest }: Endpoint): boolean =>
  rest.resource !== undefined && method !== 'POST';

export const conditionsOf = (endpoint: Endpoint): JsonSchema[] => {
  const names: ConditionName[] = [
    ...(endpoint.method === 'GET' || endpoint.isPublic ? [] : (['Idempotency-Key'] as const)),
    ...(isConditional(endpoint) ? (['If-Match'] as const) : []),
    ...(isTagged(endpoint) ? (['If-None-Match'] as const) : []),
    ...(mayBeMinimal(endpoint) || answersOnDemand(endpoint) ? (['Prefer'] as const) : []),
  ];
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
};

/** A 204 that has something to say to who would rather have it. */
export const answersOnDemand = ({ rest, output }: Endpoint): boolean =>
  rest.status === 204 && output.def.type !== 'void';
