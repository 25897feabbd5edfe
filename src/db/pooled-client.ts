import type pg from 'pg';
import { boundedWait, DeadlineExceeded } from '../lib/deadline.ts';
import type { ClientClass } from './single-client.ts';
import { createStatementNames } from './statement-names.ts';

type Options = {
  /** Milliseconds until a server that does not answer is given up; null: never. */
  limitMs: number | null;
  /** False behind a pooler that does not keep prepared statements. */
  preparesStatements?: boolean | undefined;
};

/**
 * The class of the pool's clients. It prepares repeated statements by name, sends queries without waiting for the results of
 * earlier ones, and bounds each by a limit and by the current deadline. Past either, `pg` cuts the connection: the server no
 * longer answers, or its answer is of no use.
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
      if (ms !== null && ms <= 0) throw new DeadlineExceeded();
      const bounded = {
        name: nameOf(config.text, values),
        ...config,
        values,
        ...(ms && { query_timeout: ms }),
      };
      const callback = rest.find((argument) => typeof argument === 'function');
      return callback ? query.call(this, bounded, callback) : query.call(this, bounded);
    }
  };
};

const isSubmittable = (query: unknown): boolean =>
  typeof query === 'object' && query !== null && 'submit' in query;

/** The text, with the values that follow it, or a configuration. */
const configOf = (first: unknown, [values]: unknown[]): pg.QueryConfig<unknown[]> =>
  typeof first === 'string'
    ? { text: first, ...(Array.isArray(values) && { values }) }
    : (first as pg.QueryConfig<unknown[]>);
