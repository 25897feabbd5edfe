import pLimit from 'p-limit';
import type pg from 'pg';
import { RawRow } from './json-stream/binary-row-reader.ts';
import type { ExchangeOptions } from './pipeline.ts';
import { leaveRowsAsBytes, QueryClass, type RowMessage, type Wire } from './row-parser.ts';
import { isOfStatement, watchQuery, withClient } from './with-client.ts';

export type Statement = { sql: string; parameters: readonly unknown[] };

export type RowsOf = {
  onRow: (row: RawRow) => void;
  /** Asked before the first rows and after each lot of them: how many are wanted next; 0 ends it. */
  wanted: () => number;
};

/** Reads rows as bytes, lot by lot, and answers whether there were no more. The statement is prepared under a name. */
export type ReadRows = (statement: Statement, rows: RowsOf) => Promise<boolean>;

/** Of the pool's connections: lists leave the others to requests that take less, and do not fill the event loop together. */
const POOL_SHARE = 0.4;

const NAME_PREFIX = 'rows_';
/** Texts of statements are few, and come from the code; should that ever be wrong, they go without a name. */
const MAX_NAMES = 500;

export const createRowReader = (
  pool: pg.Pool,
  { limitMs, preparesStatements = true }: ExchangeOptions,
): ReadRows => {
  leaveRowsAsBytes();
  const limit = pLimit(Math.max(1, Math.floor(pool.options.max * POOL_SHARE)));
  const names = new Map<string, string>();
  const nameOf = (sql: string): string | undefined => {
    const name = names.get(sql);
    if (name !== undefined || names.size >= MAX_NAMES) return name;
    names.set(sql, `${NAME_PREFIX}${names.size}`);
    return names.get(sql);
  };
  return (statement, rows) => {
    const name = preparesStatements ? nameOf(statement.sql) : undefined;
    return limit(() =>
      withClient(
        pool,
        (client) => readOn(client, { ...statement, name }, rows, limitMs),
        (_client, outcome) => outcome.status === 'rejected' && !isOfStatement(outcome.reason),
      ),
    );
  };
};

const readOn = (
  client: pg.PoolClient,
  { sql, parameters, name }: Statement & { name: string | undefined },
  rows: RowsOf,
  limitMs: number | null,
): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const unwatch = watchQuery(client, limitMs, reject);
    if (!unwatch) return;
    const callback = (error: Error | null) => {
      unwatch();
      const failure = error ?? query.failure;
      if (failure) reject(failure);
      else resolve(query.isWhole);
    };
    const query = new RowQuery({ text: sql, values: parameters, name, binary: true, callback }, rows);
    client.query(query as unknown as pg.Submittable); // it is one, by the class that it is made of
  });

class RowQuery extends QueryClass {
  isWhole = false;
  failure: Error | null = null;
  #row = new RawRow();
  #rows: RowsOf;

  constructor(config: object, rows: RowsOf) {
    super({ ...config, rows: rows.wanted() });
    this.#rows = rows;
  }

  handleRowDescription(): void {}

  handleDataRow({ bytes, offset }: RowMessage): void {
    if (this.failure) return;
    try {
      this.#row.begin(bytes, offset);
      this.#rows.onRow(this.#row);
    } catch (error) {
      // The connection is to be read to its end all the same.
      this.failure = error as Error; // what code throws
    }
  }

  handlePortalSuspended(connection: Wire): void {
    const wanted = this.failure ? 0 : this.#rows.wanted();
    if (wanted === 0) {
      connection.sync();
      return;
    }
    // It is two messages, which go in one write: the server would wake up for each.
    connection.stream.cork();
    this._getRows(connection, wanted);
    connection.stream.uncork();
  }

  handleCommandComplete(_message: object, connection: Wire): void {
    this.isWhole = true;
    connection.sync();
  }

  override handleError(error: Error, connection: Wire): void {
    // After a failure the server waits for this; one of the connection itself has no server any more.
    if ('severity' in error) connection.sync();
    super.handleError(error, connection);
  }
}
