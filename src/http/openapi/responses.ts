import type { z } from 'zod';
import type { Endpoint } from '../rest/endpoints.ts';
import { responseTypesOf } from '../rest/negotiation.ts';
import { answersOnDemand, isTagged, mayBeMinimal } from './conditions.ts';
import { answered } from './endpoint-parts.ts';
import { ALWAYS, headersNamed, headersOf } from './headers.ts';
import type { createJsonSchemas, JsonSchema } from './json-schemas.ts';
import { nameOf } from './request-body.ts';

/** The answer when all went well, by its status. */
export const answersOf = (
  endpoint: Endpoint,
  schemas: ReturnType<typeof createJsonSchemas>,
): Record<string, JsonSchema> => {
  const { status = 200 } = endpoint.rest;
  const nothing = { description: 'Done.', headers: headersNamed(...ALWAYS) };
  if (status === 204) {
    return answersOnDemand(endpoint)
      ? { 200: full(endpoint, schemas, ['application/json']), 204: nothing }
      : { 204: nothing };
  }
  return {
    [status]: full(endpoint, schemas, responseTypesOf(endpoint)),
    ...(isTagged(endpoint) && { 304: { description: 'You have it.', headers: headersNamed('ETag') } }),
    ...(status === 200 && mayBeMinimal(endpoint) && { 204: nothing }),
  };
};

const full = (
  endpoint: Endpoint,
  schemas: ReturnType<typeof createJsonSchemas>,
  forms: readonly string[],
): JsonSchema => {
  const schema = schemaOf(endpoint, schemas);
  return {
    description: 'What was asked for.',
    headers: headersOf(endpoint),
    content: Object.fromEntries(
      forms.map((form) => [form, { schema: /\/json$/.test(form) ? schema : { type: 'string' } }]),
    ),
  };
};

/** Where one may be sent or many, the answer has the form of the request. */
const schemaOf = (
  { output, rest, procedure }: Endpoint,
  { convert }: ReturnType<typeof createJsonSchemas>,
): JsonSchema => {
  const schema = answered(output);
  const name = schema.def.type === 'object' ? `${nameOf(procedure)}Answer` : undefined;
  const json = convert(schema, 'output', name);
  return rest.many !== undefined && schema.def.type === 'array'
    ? { oneOf: [convert((schema as z.ZodArray<z.ZodType>).element, 'output'), json] } // of that type, being an array
    : json;
};
