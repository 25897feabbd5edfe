import { once } from 'node:events';
import pLimit from 'p-limit';
import pg from 'pg';
import { endWith, tracing } from '../lib/tracing.ts';
import { isOfStatement } from './pipeline.ts';
import { createStatementNames } from './pooled-client.ts';

/** A row's columns in PostgreSQL's text format. */
export type TextRow = readonly (string | null)[];

export type Statement = { sql: string; parameters: readonly unknown[] };
/** Runs a statement and passes on each row as it arrives. */
export type ReadTextRows = (statement: Statement, onRow: (row: TextRow) => void) => Promise<void>;

/** Share of the pool's connections that may read lists at the same time: the others stay free for short requests. */
const POOL_SHARE = 0.4;

/** Parses a column of type `timestamptz` with any year and time zone. */
export const parseInstant: (text: string) => Date = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);

/** Leaves every column as the text that the server sends. */
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

export const createTextRowReader = (pool: pg.Pool, preparesStatements = true): ReadTextRows => {
  const nameOf = preparesStatements ? createStatementNames('list') : () => undefined;
  const limit = pLimit(Math.max(1, Math.floor(pool.options.max * POOL_SHARE)));
  return ({ sql: text, parameters }, onRow) => {
    const span = tracing.startStatements(() => [text]);
    const read = async (): Promise<void> => {
      const client = await pool.connect();
      const values = [...parameters];
      const config = { name: nameOf(text, values), text, values, rowMode: 'array', types: AS_TEXT };
      const [outcome] = await Promise.allSettled([readRows(client, config, onRow)]);
      const failure = outcome.status === 'rejected' ? outcome.reason : null;
      client.release(failure !== null && !isOfStatement(failure));
      if (failure !== null) throw failure;
    };
    return endWith(
      span,
      tracing.runIn(null, () => limit(read)),
    );
  };
};

/** Rows that are passed on one by one die young: `pg` keeps those that it collects until the next full garbage collection. */
const readRows = async (
  client: pg.PoolClient,
  config: pg.QueryConfig,
  onRow: (row: TextRow) => void,
): Promise<void> => {
  const query = client.query(new pg.Query<TextRow>(config));
  let failure: unknown;
  query.on('row', (row) => {
    if (failure !== undefined) return;
    try {
      onRow(row);
    } catch (error) {
      // The remaining rows are discarded, so that the connection stays usable.
      failure = error;
    }
  });
  await Promise.all([
    once(query, 'end'),
    // `pg` has no timeout for a query with row events. If this one behind it exceeds its own, both fail.
    client.query(''),
  ]);
  if (failure !== undefined) throw failure;
};
