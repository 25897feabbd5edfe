import { z } from 'zod';
import type { Endpoint } from '../rest/endpoints.ts';
import { partsOf, sentSchema } from './endpoint-parts.ts';
import type { createJsonSchemas, JsonSchema } from './json-schemas.ts';

const FORMS = ['application/x-www-form-urlencoded', 'multipart/form-data'];

/** What is to be sent, or undefined where there is nothing to say. */
export const requestBodyOf = (
  endpoint: Endpoint,
  { convert }: ReturnType<typeof createJsonSchemas>,
): JsonSchema | undefined => {
  const { rest, input } = endpoint;
  const { bodyKeys } = partsOf(endpoint);
  if (bodyKeys.length === 0) return undefined;
  const name = `${nameOf(endpoint.procedure)}Input`;
  if (rest.many !== undefined) {
    const array = sentSchema(input.shape[rest.many] as z.ZodType) as z.ZodArray<z.ZodType>; // elements under this key: see ProcedureMeta
    const element = sentSchema(array.element);
    return body(endpoint, {
      oneOf: [convert(element, 'input', name), convert(bounded(element, array), 'input')],
    });
  }
  const content =
    rest.body === undefined
      ? z.object(Object.fromEntries(bodyKeys.map((key) => [key, input.shape[key] as z.ZodType])))
      : (input.shape[rest.body] as z.ZodType); // an object, being the body
  return body(endpoint, convert(content, 'input', name), !content.safeParse({}).success);
};

/** An array of these, with the bounds of that one. */
const bounded = (element: z.ZodType, { def }: z.ZodArray<z.ZodType>): z.ZodType =>
  z.array(element).check(...((def.checks ?? []) as z.core.$ZodCheck<unknown[]>[])); // checks of an array look at its length

const body = ({ rest }: Endpoint, schema: JsonSchema, required = true): JsonSchema => ({
  required,
  content: Object.fromEntries(
    ['application/json', ...(rest.forms ? FORMS : [])].map((form) => [form, { schema }]),
  ),
});

/** `users.create` → `UsersCreate` */
export const nameOf = (procedure: string): string =>
  procedure
    .split('.')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
