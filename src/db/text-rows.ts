import pLimit from 'p-limit';
import pg from 'pg';
import { isOfStatement } from './database-errors.ts';
import { DatabaseSocket } from './database-socket.ts';

/**
 * A row's columns in PostgreSQL's text format, one character for each byte of their UTF-8 (Latin-1): the bytes can be written
 * again without decoding them. `decodeRow` returns their texts.
 */
export type TextRow = (string | null)[];

export type Statement = { sql: string; parameters: readonly unknown[] };
/** Runs a statement and passes on each row as it arrives. */
export type ReadTextRows = (statement: Statement, onRow: (row: TextRow) => void) => Promise<void>;

/** Share of the pool's connections that may read lists at the same time: the others stay free for short requests. */
const POOL_SHARE = 0.4;

/** Parses a column of type `timestamptz` with any year and time zone. */
export const parseInstant: (text: string) => Date = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);

/** The texts of a row's columns. */
export const decodeRow = (row: TextRow): TextRow =>
  row.map((column) => column && Buffer.from(column, 'latin1').toString());

export const createTextRowReader = (pool: pg.Pool): ReadTextRows => {
  const limit = pLimit(Math.max(1, Math.floor(pool.options.max * POOL_SHARE)));
  return (statement, onRow) =>
    limit(async () => {
      const client = await pool.connect();
      const [outcome] = await Promise.allSettled([readRows(client, statement, onRow)]);
      const failure = outcome.status === 'rejected' ? outcome.reason : null;
      client.release(failure !== null && !isOfStatement(failure));
      if (failure !== null) throw failure;
    });
};

const readRows = async (
  client: pg.PoolClient,
  { sql, parameters }: Statement,
  onRow: (row: TextRow) => void,
): Promise<void> => {
  const { stream } = client.connection;
  if (!(stream instanceof DatabaseSocket)) throw new TypeError('The client has no DatabaseSocket');
  let failure: unknown;
  stream.takeRows((bytes, start, end) => {
    if (failure !== undefined) return;
    try {
      onRow(columnsOf(bytes, start, end));
    } catch (error) {
      // The remaining rows are discarded, so that the connection stays usable.
      failure = error;
    }
  });
  try {
    await client.query(sql, [...parameters]);
  } finally {
    stream.takeRows(undefined);
  }
  if (failure !== undefined) throw failure;
};

const COUNT_BYTES = 2;
const LENGTH_BYTES = 4;

/** The columns of a DataRow message. Decoding the row once and taking substrings is faster than decoding each column. */
const columnsOf = (bytes: Buffer, start: number, end: number): TextRow => {
  const text = bytes.toString('latin1', start, end);
  const count = bytes.readUInt16BE(start);
  const columns = new Array<string | null>(count);
  let at = start + COUNT_BYTES;
  for (let i = 0; i < count; i += 1) {
    const length = bytes.readInt32BE(at);
    at += LENGTH_BYTES;
    // A length of -1 is null.
    columns[i] = length < 0 ? null : text.substring(at - start, at - start + length);
    at += Math.max(0, length);
  }
  return columns;
};
