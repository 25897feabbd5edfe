import type { z } from 'zod';
import type { Endpoint } from '../rest/endpoints.ts';
import { formatNames, responseTypesOf } from '../rest/negotiation.ts';
import { conditionsOf } from './conditions.ts';
import { partsOf } from './endpoint-parts.ts';
import type { JsonSchema } from './json-schemas.ts';

/** Of the demo workspace, so that "try it" finds something. */
const PATH_EXAMPLES: Record<string, unknown> = {
  email: 'ada@acme.test',
  app_id: 'zylTKNVx',
  app_slug: 'sales',
  stack_id: 'a0a91e46',
  hash: 'spring',
  id: 1,
};

export const parametersOf = (
  endpoint: Endpoint,
  convert: (schema: z.ZodType, io: 'input') => JsonSchema,
): JsonSchema[] => {
  const schemaOf = (key: string) => endpoint.input.shape[key] as z.ZodType; // both kinds of keys are taken from the shape
  return [
    ...endpoint.pathKeys.map((name) => ({
      name,
      in: 'path',
      required: true,
      schema: convert(schemaOf(name), 'input'),
      ...(name in PATH_EXAMPLES && { example: PATH_EXAMPLES[name] }),
    })),
    ...partsOf(endpoint).queryKeys.map((name) => ({
      name,
      in: 'query',
      required: !schemaOf(name).safeParse(undefined).success,
      schema: convert(schemaOf(name), 'input'),
    })),
    ...(endpoint.method === 'GET' ? [formatOf(endpoint)] : []),
    ...conditionsOf(endpoint),
  ];
};

const formatOf = (endpoint: Endpoint): JsonSchema => ({
  name: 'format',
  in: 'query',
  required: false,
  description: 'Overrides the `Accept` header.',
  // A pattern, since Scalar sends the first value of an enum unless told otherwise.
  schema: { type: 'string', pattern: `^(${formatNames(responseTypesOf(endpoint)).join('|')})$` },
});
