import { z } from 'zod';

export type JsonSchema = { [keyword: string]: unknown };
export type JsonSchemas = ReturnType<typeof createJsonSchemas>;

export const COMPONENTS_PREFIX = '#/components/schemas/';

/** Examples, and the names of components, from `meta({ id })` or added later. Generated clients use the names for their types. */
class Metadata extends z.core.$ZodRegistry<{ id?: string; examples?: unknown[] }> {
  override get(schema: z.core.$ZodType) {
    const { id, examples } = { ...z.globalRegistry.get(schema), ...super.get(schema) };
    return { ...(id !== undefined && { id }), ...(Array.isArray(examples) && { examples }) };
  }
}

/** Converts zod schemas to JSON Schema 2020-12. Named schemas become components, and a `$ref` replaces each occurrence. */
export const createJsonSchemas = () => {
  const metadata = new Metadata();
  const components: Record<string, JsonSchema> = {};

  /**
   * @param io whether the schema describes requests or responses
   * @param name turns an unnamed schema into a component
   */
  const convert = (schema: z.ZodType, io: 'input' | 'output', name?: string): JsonSchema => {
    if (name !== undefined && metadata.get(schema).id === undefined) metadata.add(schema, { id: name });
    // Wrapped in an object, because zod does not use a $ref for the outermost schema.
    const { properties, $defs } = z.toJSONSchema(z.object({ wrapped: schema }), {
      metadata,
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => overrideSchema(zodSchema, jsonSchema),
    });
    for (const [name, { id, ...component }] of Object.entries($defs ?? {}))
      components[name] ??= describeDefaults(toComponentRefs(component));
    return toComponentRefs(properties?.wrapped);
  };
  return { components, convert };
};

/** Moves defaults into descriptions: client generators would treat a property with a default as required. */
const describeDefaults = (component: JsonSchema): JsonSchema => {
  const properties: Record<string, JsonSchema> = { ...(component.properties ?? {}) };
  for (const [name, { default: value, ...property }] of Object.entries(properties))
    if (value !== undefined)
      properties[name] = { ...property, description: `Default: ${JSON.stringify(value)}.` };
  return component.properties ? { ...component, properties } : component;
};

const toComponentRefs = (schema: unknown): JsonSchema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${COMPONENTS_PREFIX}`));

/** Adapts the JSON Schema of a zod schema in place. Free-form schemas define theirs with `meta({ json })`. */
const overrideSchema = (schema: z.core.$ZodType, json: JsonSchema): void => {
  const custom: unknown = z.globalRegistry.get(schema)?.json;
  if (typeof custom === 'object' && custom !== null) replaceKeywords(json, custom);
  // zod bounds every integer to the safe range.
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
  if (schema._zod.def.type === 'date') replaceKeywords(json, { type: 'string', format: 'date-time' });
};

const replaceKeywords = (json: JsonSchema, keywords: object): void => {
  for (const keyword of Object.keys(json)) delete json[keyword];
  Object.assign(json, keywords);
};

/** The schema of a request: bulk inputs wrap it to collect errors per element, or name it with `meta({ sent })`. */
export const requestSchema = (schema: z.ZodType): z.ZodType => {
  const sent: unknown = z.globalRegistry.get(schema)?.sent;
  if (sent instanceof z.ZodType) return sent;
  const inner: unknown =
    schema instanceof z.ZodCatch ? schema.unwrap() : schema instanceof z.ZodPipe ? schema.in : null;
  return inner instanceof z.ZodType ? requestSchema(inner) : schema;
};

/** The schema of a response: streamed lists are not parsed, but name the schema of their items in their metadata. */
export const responseSchema = (schema: z.ZodType): z.ZodType => {
  const { listOf, pagesOf } = z.globalRegistry.get(schema) ?? {};
  const item: unknown = listOf ?? pagesOf;
  if (item instanceof z.ZodType) return z.array(item);
  if (schema instanceof z.ZodUnion) return z.union((schema.options as z.ZodType[]).map(responseSchema)); // zod's types leave options open
  return schema;
};

/** The name of a component for a procedure: `users.create` → `UsersCreate` */
export const componentName = (procedure: string): string =>
  procedure
    .split('.')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/** The name of the component for the body of its requests. */
export const inputName = (procedure: string): string => `${componentName(procedure)}Input`;
