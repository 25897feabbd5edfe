import { createRequire } from 'node:module';
import pg, { type PoolClient } from 'pg';
import type { Connection } from '../../../src/config/connection.ts';

/** The columns of a row as PostgreSQL sent them, decoded as Latin-1: UTF-8 bytes pass through unchanged. */
export type Fields = readonly (string | null)[];
export type Statement = { name: string; text: string };

const DATA_ROW = 68;

/** One object reused for all DataRow messages: each is read before the next arrives. */
class RawRow {
  readonly name = 'dataRow';
  bytes: Buffer = Buffer.alloc(0);
  start = 0;
  end = 0;
  length = 0;

  /** Used by `pg`'s own queries. */
  get fields(): Fields {
    return fieldsOf(this);
  }
}

/** Decodes the row once and takes substrings: decoding each field costs more. */
const fieldsOf = ({ bytes, start, end }: RawRow): Fields => {
  const text = bytes.toString('latin1', start, end);
  const count = bytes.readInt16BE(start);
  const fields: (string | null)[] = [];
  let at = start + 2;
  for (let index = 0; index < count; index += 1) {
    const length = bytes.readInt32BE(at);
    at += 4;
    fields.push(length < 0 ? null : text.substring(at - start, at - start + length));
    if (length > 0) at += length;
  }
  return fields;
};

type HandlePacket = (offset: number, code: number, length: number, bytes: Buffer) => unknown;
// Not part of pg-protocol's types; the lock file pins its version.
const { Parser } = createRequire(import.meta.url)('pg-protocol/dist/parser.js') as {
  Parser: { prototype: { handlePacket: HandlePacket } };
};
const row = new RawRow();
const handleOthers = Parser.prototype.handlePacket;
Parser.prototype.handlePacket = function (offset, code, length, bytes) {
  if (code !== DATA_ROW) return handleOthers.call(this, offset, code, length, bytes);
  row.bytes = bytes;
  row.start = offset;
  row.end = offset + length - 4;
  row.length = length;
  return row;
};

type QueryConfig = Statement & { values: unknown[] };
type Done = (error: Error | null) => void;
// The types of `pg` lack Query's callback and its row handler.
const Query = pg.Query as unknown as new (config: QueryConfig) => pg.Submittable & { callback: Done };

/** A query that passes each row to a callback and keeps none. */
class RawQuery extends Query {
  readonly #onRow: (fields: Fields) => void;

  constructor(config: QueryConfig, onRow: (fields: Fields) => void) {
    super(config);
    this.#onRow = onRow;
  }

  handleDataRow(message: RawRow): void {
    this.#onRow(fieldsOf(message));
  }
}

/** Runs a prepared statement and calls `onRow` for each row. */
export const eachRow = <F extends Fields>(
  client: PoolClient,
  { name, text }: Statement,
  values: unknown[],
  onRow: (fields: F) => void,
): Promise<void> =>
  new Promise((resolve, reject) => {
    // The caller knows the columns of its statement.
    const query = new RawQuery({ name, text, values }, onRow as (fields: Fields) => void);
    query.callback = (error) => (error ? reject(error) : resolve());
    client.query(query);
  });

/** The data fits in memory and there are two cores: JIT compilation and parallel workers do not pay off. */
const SESSION = '-c jit=off -c random_page_cost=1.1 -c max_parallel_workers_per_gather=0 -c TimeZone=UTC';
const POOL_SIZE = 8;

export const openPool = (connection: Connection): pg.Pool =>
  new pg.Pool({ ...connection, max: POOL_SIZE, min: 2, idleTimeoutMillis: 0, options: SESSION });

export const withClient = async <T>(pool: pg.Pool, work: (client: PoolClient) => Promise<T>): Promise<T> => {
  const client = await pool.connect();
  try {
    return await work(client);
  } finally {
    client.release();
  }
};

/** The first row of a statement, or undefined. */
export const oneRow = <F extends Fields>(
  pool: pg.Pool,
  statement: Statement,
  values: unknown[],
): Promise<F | undefined> =>
  withClient(pool, async (client) => {
    let found: F | undefined;
    await eachRow<F>(client, statement, values, (fields) => {
      found = fields;
    });
    return found;
  });
