import type pg from 'pg';
import { boundedWait, DeadlineExceeded } from '../lib/deadline.ts';
import type { ClientClass } from './single-client.ts';

type Options = {
  /** Milliseconds until a server that does not answer is given up; null: never. */
  limitMs: number | null;
  /** False behind a pooler that does not keep prepared statements. */
  preparesStatements?: boolean | undefined;
};

/**
 * The class of the pool's clients. It prepares repeated statements by name, sends queries without waiting for the results of
 * earlier ones, and bounds each by a limit and by the current deadline. Past either, `pg` cuts the connection: the server no
 * longer responds, or its result is too late.
 */
export const pooledClientClass = (
  Client: ClientClass,
  { limitMs, preparesStatements = true }: Options,
): ClientClass => {
  const nameOf = preparesStatements ? createStatementNames('query') : () => undefined;

  return class extends Client {
    constructor(config: pg.ClientConfig) {
      // The pool's password is not enumerable.
      super({ ...config, password: config.password, pipeline: true });
      // A lost connection fails its queries; without a listener, the event would end the process.
      this.on('error', () => {});
    }

    /** `never`, because one signature stands for all overloads. */
    override query(first: unknown, ...rest: unknown[]): never {
      const query = super.query as (...given: unknown[]) => never;
      if (isSubmittable(first)) return query.call(this, first, ...rest);
      const { values = [], ...config } = configOf(first, rest);
      const ms = boundedWait(limitMs);
      const callback = rest.find((argument) => typeof argument === 'function');
      // Reported like every failure: callers that get an exception would not release the client.
      if (ms !== null && ms <= 0) return fail(new DeadlineExceeded(), callback);
      const bounded = {
        name: nameOf(config.text, values),
        ...config,
        values,
        ...(ms && { query_timeout: ms }),
      };
      return callback ? query.call(this, bounded, callback) : query.call(this, bounded);
    }
  };
};

const fail = (error: Error, callback: unknown): never => {
  if (typeof callback !== 'function') return Promise.reject(error) as never;
  process.nextTick(callback, error);
  return undefined as never;
};

const isSubmittable = (query: unknown): boolean =>
  typeof query === 'object' && query !== null && 'submit' in query;

/** The text, with the values that follow it, or a configuration. */
const configOf = (first: unknown, [values]: unknown[]): pg.QueryConfig<unknown[]> =>
  typeof first === 'string'
    ? { text: first, ...(Array.isArray(values) && { values }) }
    : (first as pg.QueryConfig<unknown[]>);

/** The name of a statement that is to be prepared; undefined for one that is sent as it is. */
export type StatementNames = (text: string, values: readonly unknown[]) => string | undefined;

/** Texts remembered, seen or named: a few hundred are all that the service has; lists of values make more. */
const MAX_TEXTS = 500;
/** Longer ones hold lists of values, and hardly come again. */
const MAX_LENGTH = 20_000;

/**
 * Names the statements that come again, so that PostgreSQL parses each once for a connection, and plans it once where
 * a plan for all values does as well: of a small query that is half of its work. Those without values begin and end
 * transactions, or are the ORM's, which writes values into the text.
 */
export const createStatementNames = (prefix: string): StatementNames => {
  const names = new Map<string, string | null>();
  let made = 0;

  return (text, values) => {
    if (values.length === 0 || text.length > MAX_LENGTH) return undefined;
    const known = names.get(text);
    if (known) return known;
    if (known === null) {
      made += 1;
      const name = `${prefix}_${made}`;
      names.set(text, name);
      return name;
    }
    if (names.size < MAX_TEXTS) names.set(text, null);
    return undefined;
  };
};
