import fc from 'fast-check';
import { openApi } from './openapi.ts';

type Schema = {
  $ref?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  type?: string;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
};

/** Longer texts would not find more bugs. */
const MAX_TEXT = 40;
const MAX_ITEMS = 3;
/** Ids and names of the demo workspace, so that not all requests end with 404. */
const NAMES = fc.constantFrom(
  '1',
  '2',
  'zylTKNVx',
  'a0a91e46',
  'sales',
  'grace@acme.test',
  'latest',
  'pending',
);

/** Values that a schema of the OpenAPI document allows. */
export const allowedBy = (schema: Schema): fc.Arbitrary<unknown> => {
  if (schema.$ref) return allowedBy(componentOf(schema.$ref));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map(allowedBy));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  return BY_TYPE[schema.type ?? '']?.(schema) ?? fc.jsonValue();
};

const BY_TYPE: Record<string, (schema: Schema) => fc.Arbitrary<unknown>> = {
  string: (schema) => textsOf(schema),
  integer: ({ minimum = -5, maximum = 2 ** 31 - 1 }) =>
    fc.oneof(
      fc.integer({ min: minimum, max: Math.min(maximum, minimum + 5) }),
      fc.integer({ min: minimum, max: maximum }),
    ),
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: ({ items }) => fc.array(allowedBy(items ?? {}), { maxLength: MAX_ITEMS }),
  object: ({ properties, required = [] }) =>
    properties
      ? fc.record(
          Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, allowedBy(inner)])),
          { requiredKeys: required },
        )
      : fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: MAX_ITEMS }),
};

const textsOf = ({ format, pattern, minLength = 0, maxLength = MAX_TEXT }: Schema): fc.Arbitrary<string> => {
  if (format === 'email') return fc.oneof(NAMES, fc.emailAddress());
  if (format === 'date-time')
    return fc.date({ noInvalidDate: true, min: new Date(0) }).map((date) => date.toISOString());
  // fast-check cannot generate text for patterns with a negative lookahead.
  if (pattern && !pattern.includes('(?!')) return fc.oneof(NAMES, fc.stringMatching(new RegExp(pattern)));
  return fc.oneof(
    NAMES,
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, MAX_TEXT) }),
  );
};

const componentOf = (ref: string): Schema =>
  openApi.components.schemas[ref.split('/').at(-1) ?? ''] as Schema; // the document has only schemas here
