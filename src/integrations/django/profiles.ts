import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import type { DumpRecord } from './dump.ts';
import type { Remark, Sources } from './fields.ts';
import { keyOf } from './user.ts';

/** Records per statement. */
const CHUNK_SIZE = 1000;

/** The mapped fields of the profiles of one user, by `model.field`. */
export type ProfileValues = ReadonlyMap<string, unknown>;

type Profile = { position: number; model: string; userKey: string; values: string };

/**
 * Stages the records of other models that contain mapped fields in a temporary table until the users are read: they may be
 * anywhere in the dump.
 */
export const openProfiles = async (tx: Em, sources: Sources, remark: (remark: Remark) => Promise<void>) => {
  const fieldsOf = Map.groupBy(
    [...sources.values()].filter((source) => source.model !== null),
    ({ model }) => model,
  );
  await sql`
    create temporary table dumped_profiles (
      model text not null,
      user_key text not null,
      position int not null,
      "values" text not null,
      primary key (user_key, model)
    ) on commit drop`.execute(kysely(tx));
  let chunk: Profile[] = [];
  let faulty = 0;

  const refuse = (position: number, pk: string, message: string): Promise<void> => {
    faulty += 1;
    return remark({ position, pk, email: '', outcome: 'faulty', field: 'user', message });
  };

  const flush = async (): Promise<void> => {
    const repeated = await insert(tx, chunk);
    chunk = [];
    for (const { position, model } of repeated) {
      await refuse(position, '', `Another record of ${model} has the same user.`);
    }
  };

  return {
    /** Stages a record if its model has a mapped field. */
    add: async ({ position, value }: DumpRecord, model: string, fields: Record<string, unknown>) => {
      const wanted = fieldsOf.get(model);
      if (!wanted) return;
      const userKey = keyOf(fields.user);
      if (fields.user === null) return;
      if (userKey === null) {
        const pk = keyOf(Object(value).pk) ?? '';
        return refuse(position, pk, 'Must be the primary key of a user: dump without --natural-foreign.');
      }
      const values = Object.fromEntries(
        wanted.map(({ field }) => [field, Object.hasOwn(fields, field) ? fields[field] : undefined]),
      );
      chunk.push({ position, model, userKey, values: JSON.stringify(values) });
      if (chunk.length >= CHUNK_SIZE) await flush();
    },

    /** Stages the last chunk. Returns the number of invalid records. */
    finish: async (): Promise<number> => {
      await flush();
      return faulty;
    },

    /** Profiles by the key of their user. */
    valuesOf: async (userKeys: readonly string[]): Promise<Map<string, ProfileValues>> => {
      if (fieldsOf.size === 0) return new Map();
      const { rows } = await sql<{ model: string; user_key: string; values: string }>`
        select model, user_key, "values" from dumped_profiles
        where user_key = any(${[...userKeys]}::text[])`.execute(kysely(tx));
      const byUser = Map.groupBy(rows, (row) => row.user_key);
      return new Map([...byUser].map(([key, profiles]) => [key, new Map(profiles.flatMap(entriesOf))]));
    },
  };
};

export type Profiles = Awaited<ReturnType<typeof openProfiles>>;

const entriesOf = ({ model, values }: { model: string; values: string }): [string, unknown][] =>
  Object.entries(JSON.parse(values)).map(([field, value]) => [`${model}.${field}`, value]);

/** Returns the profiles whose user has another record of the same model. */
const insert = async (tx: Em, profiles: Profile[]): Promise<Profile[]> => {
  if (profiles.length === 0) return [];
  const { rows } = await sql<{ position: number }>`
    insert into dumped_profiles (model, user_key, position, "values")
    select * from unnest(
      ${profiles.map(({ model }) => model)}::text[],
      ${profiles.map(({ userKey }) => userKey)}::text[],
      ${profiles.map(({ position }) => position)}::int[],
      ${profiles.map(({ values }) => values)}::text[])
    on conflict do nothing
    returning position`.execute(kysely(tx));
  const staged = new Set(rows.map(({ position }) => position));
  return profiles.filter(({ position }) => !staged.has(position));
};
