import { EventEmitter } from 'node:events';
import type pg from 'pg';
import type { Connection } from '../config/connection.ts';
import { telemetry } from '../lib/telemetry.ts';
import { errorTypeOf, tracing } from '../lib/tracing.ts';
import { ServerClient } from './client.ts';

/** Events of a client of the pool, for each query: when it is sent, and with its error when it fails. */
export const QUERY_SENT = Symbol('query sent');
export const QUERY_FAILED = Symbol('query failed');

/** Metrics and traces report the statements of a batch together, where it is sent. */
export type BatchedQuery = pg.QueryConfig<unknown[]> & { isBatched?: boolean };

type Callback = (error: unknown, ...results: unknown[]) => void;

/**
 * The class of the pool's clients. It prepares repeated statements by name, sends queries without waiting for the results of earlier ones,
 * and reports uses and failures to the pool. It never refuses a query itself: a transaction that does not end keeps its connection.
 */
export const pooledClientClass = ({ preparesStatements = true }: Connection): typeof ServerClient => {
  // False behind a pooler that does not keep prepared statements.
  const nameOf = preparesStatements ? createStatementNames() : () => undefined;

  return class extends ServerClient {
    /** Returns `never`, because one signature covers all overloads. */
    override query(first: unknown, ...rest: unknown[]): never {
      const query = super.query as (...given: unknown[]) => never;
      this.emit(QUERY_SENT);
      // A stream of `pg-copy-streams`.
      if (first instanceof EventEmitter) return query.call(this, first, ...rest);
      const { values = [], isBatched, ...config } = configOf(first, rest);
      const named = { name: nameOf(config.text, values), ...config, values };
      if (!isBatched) telemetry.roundTrip.publish(() => ({ statements: 1 }));
      const span = isBatched ? null : tracing.startStatement(() => config.text);
      const settle = (error?: unknown): void => {
        span?.end(error ? { error: errorTypeOf(error) } : {});
        if (error) this.emit(QUERY_FAILED, error);
      };
      const callback = rest.find((argument): argument is Callback => typeof argument === 'function');
      if (callback) {
        return query.call(this, named, (error: unknown, ...results: unknown[]) => {
          settle(error);
          callback(error, ...results);
        });
      }
      // `never` hides the promise of the results.
      const results: Promise<unknown> = query.call(this, named);
      results.then(() => settle(), settle);
      return results as never;
    }
  };
};

/** The configuration of a query, given as text and values or as a configuration. */
const configOf = (first: unknown, [values]: unknown[]): BatchedQuery =>
  typeof first === 'string'
    ? { text: first, ...(Array.isArray(values) && { values }) }
    : (first as BatchedQuery);

/** Returns the name of a statement to prepare; undefined for one to send unprepared. */
type StatementNames = (text: string, values: readonly unknown[]) => string | undefined;

/** Limit of remembered texts. The service has a few hundred, and more with lists of values. */
const MAX_TEXTS = 500;
/** Longer texts contain lists of values and are seldom repeated. */
const MAX_LENGTH = 20_000;

/**
 * Names repeated statements, so that PostgreSQL parses each once per connection, and plans it once if a generic plan is as good: half of
 * the work of a small query. Statements without values are not named: they begin or end transactions, or are the ORM's, which writes values
 * into the text.
 */
export const createStatementNames = (): StatementNames => {
  const names = new Map<string, string | null>();
  let made = 0;

  return (text, values) => {
    if (values.length === 0 || text.length > MAX_LENGTH) return undefined;
    const known = names.get(text);
    if (known) return known;
    if (known === null) {
      made += 1;
      const name = `query_${made}`;
      names.set(text, name);
      return name;
    }
    if (names.size < MAX_TEXTS) names.set(text, null);
    return undefined;
  };
};
