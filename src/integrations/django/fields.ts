import { invalid } from '../../lib/problems.ts';
import type { ModelSurvey } from './survey.ts';

/** The fields of a Steward user that an import can set. A field of the dump with the same name is imported into it. */
export const USER_FIELDS = [
  'email',
  'password',
  'first_name',
  'last_name',
  'extra',
  'handle',
  'profile_color',
  'profile_avatar',
  'is_active',
  'is_demo_user',
  'is_staff',
  'is_superuser',
  'last_login',
  'date_joined',
  'last_activated',
  'last_deactivated',
  'last_password_set',
] as const;

export type UserField = (typeof USER_FIELDS)[number];

/** Where a value comes from: a field of the user model (null), or of a model whose field `user` refers to it. */
export type Source = { model: string | null; field: string };

export type FieldMapping = { target: UserField; source: Source };

/** Where each field comes from; one that is not in it gets the default of a new user. */
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

export type FieldReport = { field: string; isRefused: boolean; message: string };

/**
 * What is to be known of fields: those that are mapped and not there, and those of the user model that are not imported.
 * A field with values is refused unless it is dropped by name: it may be what limits what a user can see.
 */
export const reportFields = (
  models: ReadonlyMap<string, ModelSurvey>,
  model: string,
  {
    sources,
    mappings,
    drop,
  }: { sources: Sources; mappings: readonly FieldMapping[]; drop: readonly string[] },
): FieldReport[] => {
  const missing = mappings
    .filter(({ source }) => !models.get(source.model ?? model)?.fields.has(source.field))
    .map(({ source }) => ({
      field: 'map',
      isRefused: true,
      message: `No record of ${source.model ?? model} has a field ${source.field}.`,
    }));
  const imported = new Set(
    [...sources.values()].filter((source) => source.model === null).map(({ field }) => field),
  );
  const rest = [...(models.get(model)?.fields ?? [])].filter(([field]) => !imported.has(field));
  return [...missing, ...rest.map(([field, count]) => reportUnmapped(field, count, drop))];
};

const reportUnmapped = (field: string, count: number, drop: readonly string[]): FieldReport => {
  if (drop.includes(field)) return { field, isRefused: false, message: 'Dropped.' };
  if (field === 'username') {
    return { field, isRefused: false, message: 'Dropped: users log in with their email address.' };
  }
  if (count === 0) return { field, isRefused: false, message: 'Dropped: empty in all records.' };
  return {
    field,
    isRefused: true,
    message: `Would be lost; records with a value: ${count}. Import it with --map FIELD=${field}, or leave it out with --drop ${field}.`,
  };
};
