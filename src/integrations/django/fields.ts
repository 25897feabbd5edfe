import { invalid } from '../../lib/problems.ts';
import type { DumpRecord, ModelSurvey } from './dump.ts';
import { keyOf, USER_FIELDS, type UserField, userKeyOf } from './user.ts';

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
type Source = { model: string | null; field: string };

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

/** The mapped fields of the profiles of one user, by `model.field`. */
export type ProfileValues = ReadonlyMap<string, unknown>;

export type Profiles = ReturnType<typeof collectProfiles>;

/** Collects the mapped fields of other models. Their records may be anywhere in the dump. */
export const collectProfiles = (sources: Sources) => {
  const fieldsOf = Map.groupBy(
    [...sources.values()].filter((source) => source.model !== null),
    ({ model }) => model,
  );
  const byUser = new Map<string, Map<string, unknown>>();
  const seen = new Set<string>();
  const faults: Remark[] = [];

  return {
    faults,

    add: ({ position, value }: DumpRecord, model: string, fields: Record<string, unknown>): void => {
      const wanted = fieldsOf.get(model);
      if (!wanted || fields.user === null) return;
      const userKey = keyOf(fields.user);
      const refuse = (message: string): void => {
        const pk = keyOf(Object(value).pk) ?? '';
        faults.push({ position, pk, email: '', outcome: 'faulty', field: 'user', message });
      };
      if (userKey === null) refuse('Must be the primary key of a user: dump without --natural-foreign.');
      else if (seen.has(`${model} ${userKey}`)) refuse(`Another record of ${model} has the same user.`);
      else {
        seen.add(`${model} ${userKey}`);
        const values = byUser.get(userKey) ?? new Map();
        byUser.set(userKey, values);
        for (const { field } of wanted)
          if (Object.hasOwn(fields, field)) values.set(`${model}.${field}`, fields[field]);
      }
    },

    valuesOf: (record: DumpRecord): ProfileValues => byUser.get(userKeyOf(record) ?? '') ?? new Map(),
  };
};
