import { z } from 'zod';
import type { Endpoint } from '../rest/endpoints.ts';
import { formatNames, responseTypesOf } from '../rest/negotiation.ts';
import { headerParametersOf } from './header-parameters.ts';
import { componentName, type JsonSchema, type JsonSchemas, requestSchema } from './json-schemas.ts';

/** From the demo workspace, so that "Test Request" finds data. */
const PATH_EXAMPLES: Record<string, unknown> = {
  email: 'ada@acme.test',
  app_id: 'zylTKNVx',
  app_slug: 'sales',
  stack_id: 'a0a91e46',
  hash: 'spring',
  id: 1,
};

/** Splits the input of a procedure into query and body keys, like `rest/input.ts`. */
const inputKeys = ({ method, input, pathKeys, rest }: Endpoint) => {
  const keys = Object.keys(input.shape).filter((key) => !pathKeys.includes(key));
  if (method === 'GET') return { queryKeys: keys, bodyKeys: [] };
  if (method === 'DELETE') return { queryKeys: [], bodyKeys: [] };
  const queryKeys = rest.query ?? [];
  return { queryKeys, bodyKeys: keys.filter((key) => !queryKeys.includes(key)) };
};

export const parametersOf = (endpoint: Endpoint, { convert }: JsonSchemas): JsonSchema[] => {
  const schemaOf = (key: string) => endpoint.input.shape[key] as z.ZodType; // path and query keys are keys of the shape
  return [
    ...endpoint.pathKeys.map((name) => ({
      name,
      in: 'path',
      required: true,
      schema: convert(schemaOf(name), 'input'),
      ...(name in PATH_EXAMPLES && { example: PATH_EXAMPLES[name] }),
    })),
    ...inputKeys(endpoint).queryKeys.map((name) => ({
      name,
      in: 'query',
      required: !schemaOf(name).safeParse(undefined).success,
      schema: convert(schemaOf(name), 'input'),
    })),
    ...(endpoint.method === 'GET' ? [formatParameter(endpoint)] : []),
    ...headerParametersOf(endpoint),
  ];
};

const formatParameter = (endpoint: Endpoint): JsonSchema => ({
  name: 'format',
  in: 'query',
  required: false,
  description: 'Overrides the `Accept` header.',
  // A pattern instead of an enum, because Scalar always sends the first value of an enum.
  schema: { type: 'string', pattern: `^(${formatNames(responseTypesOf(endpoint)).join('|')})$` },
});

const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'];

/** The request body, or undefined if the operation has none. */
export const requestBodyOf = (endpoint: Endpoint, { convert }: JsonSchemas): JsonSchema | undefined => {
  const { rest, input } = endpoint;
  const { bodyKeys } = inputKeys(endpoint);
  if (bodyKeys.length === 0) return undefined;
  const name = `${componentName(endpoint.procedure)}Input`;
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
