import { z } from 'zod';
import { canonicalJson, isJsonObject } from '../../lib/json-value.ts';
import type { CompiledSchema } from '../attributes/attribute-schema.ts';
import { describeFaults, effectiveValues } from '../attributes/effective-values.ts';
import { invalidPackage } from './package-rules.ts';

const Values = z.custom<Record<string, unknown>>(isJsonObject, 'must be a mapping');

/**
 * A person that the author of a package has in mind: what they are given, and what the app must get. `data_permissions`: all effective values;
 * without it, the app must stay closed.
 */
export const Persona = z.strictObject({
  name: z.string().min(1).max(100),
  membership: Values.default({}),
  groups: z.array(Values).max(20).default([]),
  claims: Values.nullable().default(null),
  grant: Values.nullable().default(null),
  expect: z.strictObject({ allowed: z.boolean(), data_permissions: Values.optional() }),
});

type Persona = z.output<typeof Persona>;

/**
 * Checks that a package does for its personas what its author expects. The attributes of the client do not count: they must not block a load.
 * @throws Problem `invalid-package` with the differences
 */
export const requirePersonas = (schema: CompiledSchema | null, personas: readonly Persona[]): void => {
  const differences = personas.flatMap((persona) => differenceOf(schema, persona) ?? []);
  if (differences.length > 0) throw invalidPackage(`app.yaml: ${differences.slice(0, 10).join(' ')}`);
};

const differenceOf = (schema: CompiledSchema | null, persona: Persona): string | null => {
  const { name, membership, claims, grant, expect } = persona;
  const groups = persona.groups.map((values, index) => ({ name: String(index + 1), values }));
  const schemas = { app: schema, client: null };
  const given = { groups, claims, membership, grant, view: null };
  const { values, faults } = effectiveValues(schemas, given, Object.keys(schema?.properties ?? {}));
  const isAllowed = faults.length === 0;
  if (isAllowed !== expect.allowed)
    return `${name} is ${isAllowed ? 'let in' : `kept out (${describeFaults(faults)})`}, but the package expects the opposite.`;
  const expected = expect.data_permissions;
  return expected === undefined || canonicalJson(expected) === canonicalJson(values)
    ? null
    : `${name} gets ${JSON.stringify(values)}, but the package expects ${JSON.stringify(expected)}.`;
};
