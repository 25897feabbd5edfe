import type pg from 'pg';
import type { StatementNames } from './statement-names.ts';
import { watchQuery } from './with-client.ts';

type Callback = (error: Error | null, result: unknown) => void;
type Statement = { name: string | undefined; text: string; values: unknown[] };
type Query = (statement: Statement, callback: Callback) => void;

type Options = {
  limitMs: number | null;
  /** The name by which a statement is prepared, if it is worth it. */
  nameOf: StatementNames;
};

/**
 * Makes the promises of a pool's queries, and their time limit, here rather than in `pg`. It sets the callback of a query
 * after the query was made, in both cases, and V8 then keeps the rows until its next full collection: half of all that
 * was read grew old, 180 MB for a stream of a million. A callback given from the start has rows die young.
 *
 * A query past its limit (milliseconds; null: none) is one whose server no longer answers; its connection is of no more use, and is cut.
 */
export const installQueryTimeout = (pool: pg.Pool, { limitMs, nameOf }: Options): void => {
  const wrapped = new WeakSet<pg.PoolClient>();
  // Not when it connects: the ORM has connected once before it gives the pool away.
  pool.on('acquire', (client) => {
    if (wrapped.has(client)) return;
    wrapped.add(client);
    const original = client.query.bind(client) as (...all: unknown[]) => unknown; // it has many forms
    const query = original as Query;
    const promised = (text: string, values: unknown[]) =>
      new Promise((resolve, reject) => {
        const unwatch = watchQuery(client, limitMs, reject);
        if (!unwatch) return;
        query({ name: nameOf(text, values), text, values }, (error, result) => {
          unwatch();
          if (error) reject(error);
          else resolve(result);
        });
      });
    const isPromised = (all: unknown[]) => typeof all[0] === 'string' && typeof all.at(-1) !== 'function';
    Object.assign(client, {
      query: (...all: unknown[]) =>
        isPromised(all)
          ? promised(String(all[0]), (all[1] as unknown[] | undefined) ?? [])
          : original(...all),
    });
  });
};
