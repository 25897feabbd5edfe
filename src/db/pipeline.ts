import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import { Exchange, type Prepared } from './pipeline-query.ts';
import { watchQuery } from './with-client.ts';

export type Statements = readonly CompiledQuery<unknown>[];

/** Sends statements in one write, and answers the rows of each. After one that fails the rest is not run. */
export type ExchangeWith = (client: pg.PoolClient, statements: Statements) => Promise<object[][]>;

export type ExchangeOptions = {
  /** As for other queries: past it the server no longer answers, and the connection is cut; null: none. */
  limitMs: number | null;
  /** False where a pooler in between cannot keep them by their names. */
  preparesStatements?: boolean | undefined;
};

/**
 * Sent first in a transaction: what is prepared is planned once, whatever the values. Left alone, PostgreSQL takes a list of
 * keys to have ten, finds that a plan for these few would be cheaper, and plans anew each time, for longer than it then reads.
 */
export const FORCE_GENERIC_PLAN = CompiledQuery.raw(
  `select set_config('plan_cache_mode', 'force_generic_plan', true)`,
);

const NAME_PREFIX = 'step_';

export const createExchanges = ({ limitMs, preparesStatements = true }: ExchangeOptions): ExchangeWith => {
  const preparedOn = preparesStatements ? preparedByName : unnamed;
  return (client, statements) =>
    new Promise((resolve, reject) => {
      const steps = statements.map((statement) => ({
        statement,
        prepared: preparedOn(client, statement.sql),
      }));
      const unwatch = watchQuery(client, limitMs, reject);
      if (!unwatch) return;
      const query = new Exchange(client, steps, (error, rows) => {
        unwatch();
        if (error) reject(error);
        else resolve(rows);
      });
      client.query(query);
    });
};

/** By their texts, which are few: they come from statements that are compiled once. */
const names = new Map<string, string>();
/** By name. */
const ofClient = new WeakMap<pg.PoolClient, Map<string, Prepared>>();

const preparedByName = (client: pg.PoolClient, sql: string): Prepared => {
  const name = names.get(sql) ?? `${NAME_PREFIX}${names.size}`;
  names.set(sql, name);
  const known = ofClient.get(client) ?? new Map<string, Prepared>();
  ofClient.set(client, known);
  const prepared = known.get(name) ?? { name, isSent: false, readRow: undefined };
  known.set(name, prepared);
  return prepared;
};

const unnamed = (): Prepared => ({ name: '', isSent: false, readRow: undefined });

/** Whether a failure has left open which statements are prepared. */
export const hasUnknownStatements = (client: pg.PoolClient): boolean =>
  [...(ofClient.get(client)?.values() ?? [])].some(({ readRow }) => readRow === undefined);
