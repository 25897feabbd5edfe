import { invalid } from '../../lib/problems.ts';
import type { ModelSurvey } from './dump.ts';
import { USER_FIELDS, type UserField } from './user.ts';

/** A message for the operator about one record, or about the file (position null). */
export type Remark = {
  position: number | null;
  pk: string;
  email: string;
  outcome: 'faulty' | 'exists' | 'imported' | 'dropped';
  field: string;
  message: string;
};

export const remarkOnFile = (outcome: Remark['outcome'], field: string, message: string): Remark => {
  return { position: null, pk: '', email: '', outcome, field, message };
};

/** A field of the user model (null), or of a model whose field `user` references it. */
export type Source = { model: string | null; field: string };

export type FieldMapping = { target: UserField; source: Source };

/** The source of each imported field. Other fields get the default of a new user. */
export type Sources = ReadonlyMap<UserField, Source>;

/** @throws Problem `invalid-input` on `map`, `drop` */
export const sourcesOf = (mappings: readonly FieldMapping[], drop: readonly string[]): Sources => {
  const mapped = new Map<UserField, Source>();
  for (const { target, source } of mappings) {
    if (mapped.has(target)) throw invalid({ map: [`Maps ${target} twice.`] });
    if (source.model === null && drop.includes(source.field)) {
      throw invalid({ drop: [`${source.field} is imported by --map.`] });
    }
    mapped.set(target, source);
  }
  const defaults = USER_FIELDS.filter((field) => !drop.includes(field));
  return new Map([...defaults.map((field) => [field, { model: null, field }] as const), ...mapped]);
};

type Models = ReadonlyMap<string, ModelSurvey>;
type Options = { sources: Sources; map: readonly FieldMapping[]; drop: readonly string[] };

/** Lists the mapped fields that do not exist, and the fields of the user model that are not imported. */
export const remarksOnFields = (models: Models, model: string, { sources, map, drop }: Options): Remark[] => {
  const missing = map.filter(({ source }) => !models.get(source.model ?? model)?.fields.has(source.field));
  const imported = [...sources.values()].filter((source) => source.model === null).map(({ field }) => field);
  const others = [...(models.get(model)?.fields ?? [])].filter(([field]) => !imported.includes(field));
  return [
    ...missing.map(({ source: { model: name, field } }) =>
      remarkOnFile('faulty', 'map', `No record of ${name ?? model} has a field ${field}.`),
    ),
    ...others.map(([field, count]) => remarkOnUnmapped(field, count, drop)),
  ];
};

/** A field with values must be dropped explicitly: it may restrict what a user can see. */
const remarkOnUnmapped = (field: string, count: number, drop: readonly string[]): Remark => {
  if (drop.includes(field)) return remarkOnFile('dropped', field, 'Dropped.');
  if (field === 'username')
    return remarkOnFile('dropped', field, 'Dropped: users log in with their email address.');
  if (count === 0) return remarkOnFile('dropped', field, 'Dropped: empty in all records.');
  const message = `Would be lost; records with a value: ${count}. Import it with --map FIELD=${field}, or leave it out with --drop ${field}.`;
  return remarkOnFile('faulty', field, message);
};
