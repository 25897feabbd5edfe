import type { Compilable, CompiledQuery } from 'kysely';
import type pg from 'pg';
import { errorCodeOf } from '../lib/errno.ts';
import { telemetry } from '../lib/telemetry.ts';
import { endWith, tracing } from '../lib/tracing.ts';
import { isOfStatement } from './database-errors.ts';
import type { BatchedQuery } from './pooled-client.ts';

/** Runs a query that changes nothing. */
export type Read = <Row>(query: Compilable<Row>) => Promise<Row[]>;

/**
 * PostgreSQL assumes that an array of keys has ten elements, so a plan for the usual one or two looks cheaper. It would plan
 * the statement on every run, which takes longer than running it.
 */
const BEGIN = 'begin; set local plan_cache_mode = force_generic_plan';

type Requested = {
  statement: CompiledQuery<unknown>;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
};

/**
 * Batches small reads per tick, like DataLoader: they share a connection, a transaction and a round trip. For statements that are
 * fast, as each waits for those before it.
 */
export const createRead = (pool: pg.Pool): Read => {
  let requested: Requested[] = [];

  const sendAll = (): void => {
    const batch = requested;
    requested = [];
    // Each caller has its own span.
    tracing.runIn(null, () => void run(batch));
  };
  const run = async (batch: readonly Requested[]): Promise<void> => {
    const statements = batch.map(({ statement }) => statement);
    const [outcome] = await Promise.allSettled([readTogether(pool, statements)]);
    if (outcome.status === 'fulfilled') {
      for (const [index, { resolve }] of batch.entries()) resolve(outcome.value[index] ?? []);
    } else if (batch.length > 1 && isOfStatement(outcome.reason) && !isTimeout(outcome.reason)) {
      // The other statements did not cause the failure.
      for (const one of batch) void run([one]);
    } else {
      for (const { reject } of batch) reject(outcome.reason);
    }
  };

  return <Row>(query: Compilable<Row>) => {
    const statement = query.compile();
    const span = tracing.startStatements(() => [statement.sql]);
    const rows = new Promise<Row[]>((resolve, reject) => {
      // The rows are what the statement's type says, as with Kysely, whose statement it is.
      requested.push({ statement, resolve: resolve as Requested['resolve'], reject });
      if (requested.length === 1) setImmediate(sendAll);
    });
    return endWith(span, rows);
  };
};

/**
 * Sends the statements and the end of their transaction together. If one fails, PostgreSQL ignores the others and `commit` rolls
 * back.
 */
const readTogether = async (
  pool: pg.Pool,
  statements: readonly CompiledQuery<unknown>[],
): Promise<unknown[][]> => {
  const client = await pool.connect();
  const send = (text: string, values: readonly unknown[] = []) => {
    const query: BatchedQuery = { text, values: [...values], isBatched: true };
    return client.query<Record<string, unknown>>(query);
  };
  telemetry.roundTrip.publish(() => ({ statements: statements.length + 2 }));
  const results = await Promise.allSettled([
    send(BEGIN),
    ...statements.map(({ sql, parameters }) => send(sql, parameters)),
    send('commit'),
  ]);
  const failure = results.find((result) => result.status === 'rejected');
  client.release(failure !== undefined && !isOfStatement(failure.reason));
  if (failure) throw failure.reason;
  return results.slice(1, -1).map((result) => (result.status === 'fulfilled' ? result.value.rows : []));
};

/** `lock_timeout` and `statement_timeout`: the statements have waited long enough. */
const isTimeout = (error: unknown): boolean => ['55P03', '57014'].includes(errorCodeOf(error) ?? '');
