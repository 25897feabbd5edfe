import type { CompiledQuery } from 'kysely';
import type pg from 'pg';
import { beforeDeadline, Deadline, withDeadline } from '../lib/deadline.ts';
import { errorCodeOf } from '../lib/errno.ts';
import { telemetry } from '../lib/telemetry.ts';
import { endWith, tracing } from '../lib/tracing.ts';

type RowsOf<S> = S extends CompiledQuery<infer Row> ? Row[] : never;

/** Runs statements in one transaction, sent together, and returns the rows of each. */
export type Transact = <const S extends readonly CompiledQuery<unknown>[]>(
  statements: S,
  options?: TransactOptions,
) => Promise<{ -readonly [K in keyof S]: RowsOf<S[K]> }>;

export type TransactOptions = {
  /** False for statements whose values decide how they are best planned, such as long lists. Default: true. */
  hasGenericPlans?: boolean;
};

/** Runs a statement that changes nothing. */
export type Read = <Row>(statement: CompiledQuery<Row>) => Promise<Row[]>;

/**
 * PostgreSQL assumes that an array of keys has ten elements, so a plan for the usual one or two looks cheaper. It would plan
 * the statement on every run, which takes longer than running it.
 */
const GENERIC_PLANS = '; set local plan_cache_mode = force_generic_plan';

export const createTransact =
  (pool: pg.Pool): Transact =>
  (statements, options) => {
    const span = tracing.startStatements(() => statements.map(({ sql }) => sql));
    return endWith(span, sendTransaction(pool, statements, options));
  };

const sendTransaction = async <const S extends readonly CompiledQuery<unknown>[]>(
  pool: pg.Pool,
  statements: S,
  { hasGenericPlans = true }: TransactOptions = {},
) => {
  const client = await pool.connect();
  const { stream } = client.connection;
  // One write: it costs one system call, and an instance that freezes cannot leave half of a transaction behind.
  stream.cork();
  const sent = Promise.allSettled([
    client.query(hasGenericPlans ? `begin${GENERIC_PLANS}` : 'begin'),
    ...statements.map(({ sql, parameters }) => client.query(sql, [...parameters])),
    client.query('commit'),
  ]);
  stream.uncork();
  telemetry.roundTrip.publish(() => ({ statements: statements.length + 2 }));
  const results = await sent;
  const failure = results.find((result) => result.status === 'rejected');
  client.release(failure !== undefined && !isOfStatement(failure.reason));
  if (failure) throw failure.reason;
  const rows = results.slice(1, -1).map((result) => result.status === 'fulfilled' && result.value.rows);
  // The rows are what the statements' types say, as with Kysely, whose statements they are.
  return rows as { -readonly [K in keyof S]: RowsOf<S[K]> };
};

const READ_LIMIT_MS = 10_000;

type Requested = {
  statement: CompiledQuery<unknown>;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
};

/**
 * Batches small reads per tick, like DataLoader: they share a connection and a round trip. For statements that are fast, as
 * each waits for those before it.
 */
export const createRead = (transact: Transact): Read => {
  let requested: Requested[] = [];

  const sendAll = (): void => {
    const batch = requested;
    requested = [];
    // Each caller waits until its own deadline, and has a span of its own.
    tracing.runIn(null, () => void withDeadline(new Deadline(READ_LIMIT_MS), () => run(batch)));
  };
  const run = async (batch: readonly Requested[]): Promise<void> => {
    const [outcome] = await Promise.allSettled([transact(batch.map(({ statement }) => statement))]);
    if (outcome.status === 'fulfilled') {
      for (const [index, { resolve }] of batch.entries()) resolve(outcome.value[index] ?? []);
    } else if (batch.length > 1 && isOfStatement(outcome.reason) && !isTimeout(outcome.reason)) {
      // The other statements are not to blame.
      for (const one of batch) void run([one]);
    } else {
      for (const { reject } of batch) reject(outcome.reason);
    }
  };

  return <Row>(statement: CompiledQuery<Row>) => {
    const span = tracing.startStatements(() => [statement.sql]);
    const rows = beforeDeadline(
      new Promise<Row[]>((resolve, reject) => {
        // As above: the rows are what the statement's type says.
        requested.push({ statement, resolve: resolve as Requested['resolve'], reject });
        if (requested.length === 1) setImmediate(sendAll);
      }),
    );
    return endWith(span, rows);
  };
};

/** Whether the connection is still usable after a failure. */
export const isOfStatement = (error: unknown): boolean =>
  error instanceof Error && 'severity' in error && error.severity === 'ERROR';

/** `lock_timeout` and `statement_timeout`: the statements have waited long enough. */
const isTimeout = (error: unknown): boolean => ['55P03', '57014'].includes(errorCodeOf(error) ?? '');
