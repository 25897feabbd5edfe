import type pg from 'pg';
import { boundedWait, DeadlineExceeded } from '../lib/deadline.ts';
import { telemetry } from '../lib/telemetry.ts';
import { endWith, errorTypeOf, type Span, tracing } from '../lib/tracing.ts';
import type { ClientClass } from './single-client.ts';

type Options = {
  /** Milliseconds until a query fails if the server does not answer; null: never. */
  limitMs: number | null;
  /** False behind a pooler that does not keep prepared statements. */
  preparesStatements?: boolean | undefined;
};

/**
 * The class of the pool's clients. It prepares repeated statements by name, sends queries without waiting for the results of
 * earlier ones, and limits the time of each by a timeout and the current deadline. After either, `pg` closes the connection,
 * because the server no longer responds or its result would be too late.
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

    /** Returns `never`, because one signature covers all overloads. */
    override query(first: unknown, ...rest: unknown[]): never {
      const query = super.query as (...given: unknown[]) => never;
      if (isSubmittable(first)) return query.call(this, first, ...rest);
      const { values = [], ...config } = configOf(first, rest);
      const ms = boundedWait(limitMs);
      const callback = rest.find((argument): argument is Callback => typeof argument === 'function');
      // Not thrown: callers that get an exception would not release the client.
      if (ms !== null && ms <= 0) return fail(new DeadlineExceeded(), callback);
      const bounded = {
        name: nameOf(config.text, values),
        ...config,
        values,
        ...(ms && { query_timeout: ms }),
      };
      const send = (onResult = callback) =>
        onResult ? query.call(this, bounded, onResult) : query.call(this, bounded);
      // The statements of a pipeline are reported together, where it is sent.
      if (this.connection.stream.writableCorked > 0) return send();
      telemetry.roundTrip.publish(() => ({ statements: 1 }));
      const span = tracing.startStatements(() => [config.text]);
      return span ? endWithQuery(span, send, callback) : send();
    }
  };
};

const endWithQuery = (
  span: Span,
  send: (callback?: Callback) => never,
  callback: Callback | undefined,
): never => {
  // `never` is the promise of the results.
  if (!callback) return endWith(span, send()) as never;
  return send((error: unknown, ...results: unknown[]) => {
    span.end(error ? { error: errorTypeOf(error) } : {});
    callback(error, ...results);
  });
};

type Callback = (error: unknown, ...results: unknown[]) => void;

const fail = (error: Error, callback: unknown): never => {
  if (typeof callback !== 'function') return Promise.reject(error) as never;
  process.nextTick(callback, error);
  return undefined as never;
};

const isSubmittable = (query: unknown): boolean =>
  typeof query === 'object' && query !== null && 'submit' in query;

/** The configuration of a query that is given as text and values, or as a configuration. */
const configOf = (first: unknown, [values]: unknown[]): pg.QueryConfig<unknown[]> =>
  typeof first === 'string'
    ? { text: first, ...(Array.isArray(values) && { values }) }
    : (first as pg.QueryConfig<unknown[]>);

/** Returns the name of a statement to prepare; undefined for one to send unprepared. */
export type StatementNames = (text: string, values: readonly unknown[]) => string | undefined;

/** Texts remembered, seen or named. The service has a few hundred, and more with lists of values. */
const MAX_TEXTS = 500;
/** Longer texts contain lists of values and are seldom repeated. */
const MAX_LENGTH = 20_000;

/**
 * Names repeated statements, so that PostgreSQL parses each once per connection, and plans it once if a generic plan is as
 * good: half of the work of a small query. Statements without values are not named: they begin or end transactions, or are
 * the ORM's, which writes values into the text.
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
