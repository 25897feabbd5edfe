import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

type Value = string | number | boolean | Date | null | Record<string, unknown>;

/** Large enough that the cost of each write to the socket does not count. */
const CHUNK_CHARACTERS = 256 * 1024;

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** A text as COPY takes it; see "Text Format" of COPY in PostgreSQL's manual. */
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
 * @returns how many rows there were
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
