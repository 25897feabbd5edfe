import pLimit from 'p-limit';
import pg from 'pg';
import type { ExchangeOptions } from './pipeline.ts';
import { isOfStatement, watchQuery, withClient } from './with-client.ts';

/** A row's columns in PostgreSQL's text format. */
export type TextRow = readonly (string | null)[];

export type Statement = { sql: string; parameters: readonly unknown[] };

/** Runs a statement, prepared under a name, and passes on each row as it arrives. */
export type ReadTextRows = (statement: Statement, onRow: (row: TextRow) => void) => Promise<void>;

/** Share of the pool's connections that may read lists at the same time: the others stay free for short requests. */
const POOL_SHARE = 0.4;

const NAME_PREFIX = 'rows_';
/** Statement texts come from the code, so there are few. A bug that generates texts must not fill the server's memory. */
const MAX_NAMES = 500;

/** Parses a column of type `timestamptz`, whatever its year and time zone. */
export const parseInstant: (text: string) => Date = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);

/** Leaves every column as the text that the server sends. */
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

export const createTextRowReader = (
  pool: pg.Pool,
  { limitMs, preparesStatements = true }: ExchangeOptions,
): ReadTextRows => {
  const limit = pLimit(Math.max(1, Math.floor(pool.options.max * POOL_SHARE)));
  const names = new Map<string, string>();
  const nameOf = (text: string): string | undefined => {
    if (!preparesStatements) return undefined;
    if (!names.has(text) && names.size < MAX_NAMES) names.set(text, `${NAME_PREFIX}${names.size}`);
    return names.get(text);
  };

  const read = (
    client: pg.PoolClient,
    { sql: text, parameters }: Statement,
    onRow: (row: TextRow) => void,
  ): Promise<void> =>
    new Promise((resolve, reject) => {
      const unwatch = watchQuery(client, limitMs, reject);
      if (!unwatch) return;
      const config = { name: nameOf(text), text, values: [...parameters], rowMode: 'array', types: AS_TEXT };
      // Rows that are passed on one by one die young: collecting the rows of a page makes garbage collection expensive.
      const query = client.query(new pg.Query<TextRow>(config));
      let failure: unknown;
      query.on('row', (row) => {
        if (failure !== undefined) return;
        try {
          onRow(row);
        } catch (error) {
          // The rest is read all the same, to leave the connection in order.
          failure = error;
        }
      });
      query.on('end', () => {
        unwatch();
        if (failure === undefined) resolve();
        else reject(failure);
      });
      query.on('error', (error) => {
        unwatch();
        reject(error);
      });
    });

  return (statement, onRow) =>
    limit(() =>
      withClient(
        pool,
        (client) => read(client, statement, onRow),
        (_client, outcome) => outcome.status === 'rejected' && !isOfStatement(outcome.reason),
      ),
    );
};
