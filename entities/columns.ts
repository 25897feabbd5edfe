import { p } from '@mikro-orm/core';

/** A time in milliseconds, the precision of `Date`: REST, tRPC and cursors agree on every digit. */
export const instant = () => p.datetime(3).columnType('timestamptz(3)');

/** Free-form JSON, stored as sent: `jsonb` would reorder keys and reject `\u0000`. */
export const jsonObject = () => p.json<Record<string, unknown>>().columnType('json').defaultRaw(`'{}'`);

/** A JSON Schema, as text in the order of its author; null: none. */
export const jsonSchema = () => p.json<Record<string, unknown>>().columnType('json').nullable();

/** Keys of roles that an app declares. Keys that it no longer declares do not count. */
export const roleKeys = () => p.array().columnType('text[]').defaultRaw(`'{}'`);

/**
 * An index that property options cannot express.
 * @param on what follows `on` in its definition: the table, the columns, and for a partial index the condition
 */
export const index = (name: string, on: string) => ({ name, expression: `create index ${name} on ${on}` });

export const uniqueIndex = (name: string, on: string) => ({
  name,
  expression: `create unique index ${name} on ${on}`,
});
