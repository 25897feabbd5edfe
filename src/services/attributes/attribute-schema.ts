import { createRequire } from 'node:module';
import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { parseJson } from '../../lib/exact-json.ts';
import { isReadableJson } from '../../lib/json-value.ts';

/*
 * JSON Schema 2020-12 of data permissions, without what could make a check slow: references, regular expressions, `uniqueItems`, long enums.
 * Unknown keywords are refused: a mistyped one would allow everything.
 */

const MAX_ATTRIBUTES = 100;
const MAX_CHARACTERS = 16_384;
/** Of all enums of a schema, and of the nodes of a value: each is compared with each. */
const MAX_VALUES = 1_000;
const FORMATS = ['date', 'date-time', 'time', 'email', 'uri', 'uuid', 'ipv4', 'ipv6'] as const;

const Type = z.enum(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
const Count = z.int().min(0);

export const AttributeKey = z
  .string()
  .regex(
    /^[A-Za-z][\w.-]{0,63}$/,
    'must begin with a letter, and have at most 64 of A–Z, a–z, 0–9, _, . and -',
  );

const Described = z.object({
  title: z.string().max(255).optional(),
  description: z.string().max(2_000).optional(),
});

/**
 * `multiple`: whether the lists of several groups are united; by default they are. `values_from`: only values that the schema of the client
 * lists. `sensitive`: masked for people who do not manage people.
 */
const Hints = z.strictObject({
  multiple: z.boolean().optional(),
  values_from: z.literal('client').optional(),
  sensitive: z.boolean().optional(),
});

/** An attribute, or a part of one. It may have more keywords, which only the check reads. */
export type Attribute = z.output<typeof Described> & {
  default?: unknown;
  type?: z.output<typeof Type> | z.output<typeof Type>[] | undefined;
  enum?: unknown[] | undefined;
  format?: string | undefined;
  items?: Attribute | undefined;
  'x-steward'?: z.output<typeof Hints> | undefined;
};

const Attribute: z.ZodType<Attribute> = z.lazy(() =>
  z.strictObject({
    ...Described.shape,
    default: z.unknown().optional(),
    examples: z.array(z.unknown()).optional(),
    type: z.union([Type, z.array(Type).min(1)]).optional(),
    enum: z.array(z.unknown()).min(1).optional(),
    const: z.unknown().optional(),
    format: z.enum(FORMATS).optional(),
    minLength: Count.optional(),
    maxLength: Count.optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    exclusiveMinimum: z.number().optional(),
    exclusiveMaximum: z.number().optional(),
    items: Attribute.optional(),
    minItems: Count.optional(),
    maxItems: Count.optional(),
    properties: z.record(AttributeKey, Attribute).optional(),
    required: z.array(AttributeKey).optional(),
    additionalProperties: z.boolean().optional(),
    anyOf: z.array(Attribute).min(1).max(10).optional(),
    'x-steward': Hints.optional(),
  }),
);

export const AttributeSchema = z
  .strictObject({
    ...Described.shape,
    $schema: z.literal('https://json-schema.org/draft/2020-12/schema').optional(),
    type: z.literal('object').optional(),
    properties: z.record(AttributeKey, Attribute),
    required: z.array(AttributeKey).optional(),
  })
  .superRefine((schema, context) => {
    const refuse = (message: string, ...path: string[]) =>
      context.addIssue({ code: 'custom', message, path, input: schema });
    const keys = Object.keys(schema.properties);
    if (keys.length > MAX_ATTRIBUTES) refuse(`has more than ${MAX_ATTRIBUTES} attributes`, 'properties');
    if (JSON.stringify(schema).length > MAX_CHARACTERS) return refuse('is larger than 16 KiB');
    for (const key of schema.required ?? [])
      if (!keys.includes(key)) refuse(`names ${key}, which is not among the properties`, 'required');
    if (!isReadableJson(schema)) return refuse('has a NUL or half a character');
    if (countEnums(schema) > MAX_VALUES) return refuse(`lists more than ${MAX_VALUES} values`);
    try {
      const { check } = compile(schema);
      for (const [key, { default: value }] of Object.entries(schema.properties))
        for (const fault of value === undefined ? [] : check({ [key]: value }))
          if (fault.key === key) refuse(fault.message, 'properties', key, 'default');
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      refuse(error.message.slice(0, 500));
    }
  });

/** All values of all enums. */
const countEnums = (node: unknown): number => {
  if (typeof node !== 'object' || node === null) return 0;
  const own = 'enum' in node && Array.isArray(node.enum) ? node.enum.length : 0;
  return Object.values(node).reduce((sum: number, inner) => sum + countEnums(inner), own);
};

export type AttributeSchema = z.output<typeof AttributeSchema>;

/** What is wrong with the value of an attribute. `message` is a predicate: `is required`. */
export type Fault = { key: string; message: string };

/** A schema, ready to check the values of its attributes. Other values are not its matter. */
export type CompiledSchema = {
  properties: Readonly<Record<string, Attribute>>;
  required: readonly string[];
  check: (values: Readonly<Record<string, unknown>>) => Fault[];
};

/** Loaded on first use: it takes 30 ms that installations without such a schema never need. Decisions about access cannot wait for an import. */
const require = createRequire(import.meta.url);
let ajv: Ajv2020 | undefined;

const loadAjv = (): Ajv2020 => {
  if (ajv) return ajv;
  const { Ajv2020: Ajv } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  const { default: addFormats } = require('ajv-formats') as typeof import('ajv-formats');
  ajv = new Ajv({
    allErrors: true,
    // Otherwise, `constructor` would be a property of every object.
    ownProperties: true,
    meta: false,
    validateSchema: false,
    strictTypes: false,
    strictTuples: false,
    allowUnionTypes: true,
    keywords: ['x-steward'],
    // The cache below holds the schemas.
    addUsedSchema: false,
  });
  addFormats.default(ajv, [...FORMATS]);
  return ajv;
};

const compile = (schema: AttributeSchema): CompiledSchema => {
  const { properties, required = [] } = schema;
  const validate = loadAjv().compile<unknown>(comparable({ type: 'object', properties, required }) as object);
  loadAjv().removeSchema(validate.schema as object);
  return {
    properties,
    required,
    check: (values) => {
      const own = Object.entries(values).filter(([key]) => Object.hasOwn(properties, key));
      const tooLong = own.filter(([, value]) => countNodes(value) > MAX_VALUES).map(([key]) => key);
      if (tooLong.length > 0)
        return tooLong.map((key) => ({ key, message: `has more than ${MAX_VALUES} values` }));
      if (validate(comparable(Object.fromEntries(own)))) return [];
      return (validate.errors ?? []).slice(0, MAX_FAULTS).map((error) => faultOf(error, properties));
    },
  };
};

const countNodes = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, inner) => sum + countNodes(inner), 1)
    : 1;

/**
 * Ajv compares doubles. Integers beyond ±(2⁵³ − 1), which are bigints, become objects, so that each digit counts: `enum` and `const` match
 * them, and no type of numbers or texts does.
 */
const comparable = (value: unknown): unknown => {
  if (typeof value === 'bigint') return { 'integer beyond 2^53': String(value) };
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, comparable(inner)]));
};

/** Says nothing of the value, which may be sensitive. */
const faultOf = (
  { instancePath, keyword, params, message = 'is invalid' }: ErrorObject,
  properties: CompiledSchema['properties'],
): Fault => {
  const [, key = '', ...path] = instancePath.split('/');
  if (keyword === 'required' && key === '')
    return { key: String(params.missingProperty), message: 'is required' };
  const isSensitive = properties[key]?.['x-steward']?.sensitive === true;
  const allowed = keyword === 'enum' && !isSensitive ? listOf(params.allowedValues) : null;
  const text = allowed === null ? message : `must be one of ${allowed}`;
  return { key, message: path.length > 0 ? `${text} (${placeOf(path)})` : text };
};

/** `item 1`, or in other cases a path. */
const placeOf = (path: readonly string[]): string => {
  const [first] = path;
  return path.length === 1 && /^\d+$/.test(first ?? '')
    ? `item ${Number(first) + 1}`
    : `at ${path.join('/')}`;
};

const MAX_FAULTS = 20;
const MAX_LISTED = 10;

const listOf = (values: unknown): string => {
  const all = Array.isArray(values)
    ? values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    : [];
  const more = all.length > MAX_LISTED ? ` and ${all.length - MAX_LISTED} more` : '';
  return all.slice(0, MAX_LISTED).join(', ') + more;
};

const MAX_COMPILED = 200;
const compiled = new Map<string, CompiledSchema>();

/** Compiles the text of a schema that was accepted before. The last ones are kept: each decision about an app needs its schema. */
export const schemaOf = (text: string | null): CompiledSchema | null => {
  if (text === null) return null;
  const known = compiled.get(text);
  if (known) return known;
  const schema = compile(parseJson(text));
  const [oldest] = compiled.keys();
  if (compiled.size >= MAX_COMPILED && oldest !== undefined) compiled.delete(oldest);
  compiled.set(text, schema);
  return schema;
};
