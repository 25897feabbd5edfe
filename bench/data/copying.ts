import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

type Value = string | number | boolean | Date | null | Record<string, unknown>;

/** Large enough to make the cost of a socket write negligible. */
const CHUNK_CHARACTERS = 256 * 1024;

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Escapes a string for COPY; see "Text Format" of COPY in PostgreSQL's manual. */
export const copyText = (text: string): string =>
  text.replace(/[\\\t\n\r]/g, (sign) => ESCAPES[sign] ?? sign);

const copyField = (value: Value): string => {
  if (value === null) return '\\N';
  if (value instanceof Date) return value.toISOString();
  return copyText(typeof value === 'object' ? JSON.stringify(value) : String(value));
};

export const copyLine = (...values: Value[]): string => `${values.map(copyField).join('\t')}\n`;

/**
 * Copies lines into a table or a partition.
 * @param target the table and its columns in the order of the lines' fields
 * @returns the number of rows
 */
export const copyInto = async (
  client: Client,
  target: string,
  lines: Iterable<string>,
  option = '',
): Promise<number> => {
  const copy = client.query(copyFrom(`copy ${target} from stdin ${option}`));
  await pipeline(Readable.from(chunksOf(lines), { objectMode: true, highWaterMark: 2 }), copy);
  return copy.rowCount;
};

const chunksOf = function* (lines: Iterable<string>): Generator<Buffer> {
  let chunk = '';
  for (const line of lines) {
    chunk += line;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield Buffer.from(chunk);
    chunk = '';
  }
  if (chunk !== '') yield Buffer.from(chunk);
};

type Definition = { drop: string; create: string };

/** Constraints first: they own their indexes. */
const DEFINITIONS = `
  select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
    format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as create
  from pg_constraint where conrelid = $1::regclass and contype in ('p', 'u')
  union all
  select format('drop index %s', indexrelid::regclass), replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ')
  from pg_index where indrelid = $1::regclass
    and not exists (select from pg_constraint where conindid = indexrelid)`;

/**
 * Drops a table's indexes, runs `work`, and creates them again: building an index once is faster than updating it for
 * each row. Call it in a transaction, which restores the indexes if `work` fails.
 */
export const withoutIndexes = async <T>(
  client: Client,
  table: string,
  work: () => Promise<T>,
): Promise<T> => {
  const { rows } = await client.query<Definition>(DEFINITIONS, [table]);
  for (const { drop } of rows) await client.query(drop);
  const result = await work();
  for (const { create } of rows) await client.query(create);
  return result;
};
