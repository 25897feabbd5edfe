import { z } from 'zod';

export type JsonSchema = { [keyword: string]: unknown };

/** Where the document keeps what it names. */
const COMPONENTS = '#/components/schemas/';

/**
 * Turns zod schemas into JSON Schema 2020-12. Those that have a name become components, and are referred to wherever
 * they occur.
 */
export const createJsonSchemas = (names: ReadonlyMap<z.ZodType, string>) => {
  const metadata = z.registry<{ id: string }>();
  for (const [schema, id] of names) metadata.add(schema, { id });
  const components: Record<string, JsonSchema> = {};

  /**
   * @param io what is sent to the service, or what it answers
   * @param name makes a component of a schema that has no name yet
   */
  const convert = (schema: z.ZodType, io: 'input' | 'output', name?: string): JsonSchema => {
    if (name !== undefined && !metadata.has(schema)) metadata.add(schema, { id: name });
    // Inside an object, for the outermost schema would not be referred to by its name.
    const { properties, $defs } = z.toJSONSchema(z.object({ it: schema }), {
      metadata,
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => represent(zodSchema, jsonSchema),
    });
    for (const [name, { id, ...component }] of Object.entries($defs ?? {}))
      components[name] ??= withDefaultsInWords(relocated(component));
    return relocated(properties?.it);
  };
  return { components, convert };
};

/** Generators take a property with a default for one that is always there, and then demand it of who sends it. */
const withDefaultsInWords = (component: JsonSchema): JsonSchema => {
  const properties: Record<string, JsonSchema> = { ...(component.properties ?? {}) };
  for (const [name, { default: value, ...property }] of Object.entries(properties))
    if (value !== undefined)
      properties[name] = { ...property, description: `Default: ${JSON.stringify(value)}.` };
  return component.properties ? { ...component, properties } : component;
};

const relocated = (schema: unknown): JsonSchema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${COMPONENTS}`));

/** What JSON Schema has no word for of itself. Schemas of free form say theirs by `meta({ json })`. */
const represent = (schema: z.core.$ZodType, json: JsonSchema): void => {
  const said: unknown = z.globalRegistry.get(schema)?.json;
  if (typeof said === 'object' && said !== null) replace(json, said);
  // Every integer of zod is one that JavaScript holds exactly: that goes without saying.
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
  if (schema._zod.def.type === 'date') replace(json, { type: 'string', format: 'date-time' });
};

const replace = (json: JsonSchema, by: object): void => {
  for (const keyword of Object.keys(json)) delete json[keyword];
  Object.assign(json, by);
};
