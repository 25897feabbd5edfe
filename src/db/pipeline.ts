import type { CompiledQuery } from 'kysely';
import type pg from 'pg';
import { errorCodeOf } from '../lib/errno.ts';
import { telemetry } from '../lib/telemetry.ts';
import { endWith, tracing } from '../lib/tracing.ts';
import { isOfStatement } from './database-errors.ts';

type RowsOf<S> = S extends CompiledQuery<infer Row> ? Row[] : never;

/** Sends statements together, and returns the rows of each. */
type Send = <const S extends readonly CompiledQuery<unknown>[]>(
  statements: S,
) => Promise<{ -readonly [K in keyof S]: RowsOf<S[K]> }>;

/** A transaction whose statements are sent in batches: a batch takes one round trip. */
export type Pipeline = {
  send: Send;
  /** Sends the last statements along with the commit. */
  commit: Send;
};

export type PipelineOptions = {
  /** False for statements whose values decide how they are best planned, such as long lists. Default: true. */
  hasGenericPlans?: boolean;
};

/** Runs `work` in a transaction, which is rolled back if `work` fails or does not commit. */
export type RunPipeline = <T>(
  work: (pipeline: Pipeline) => Promise<T>,
  options?: PipelineOptions,
) => Promise<T>;

/** Runs statements in one transaction, sent together, and returns the rows of each. */
export type Transact = <const S extends readonly CompiledQuery<unknown>[]>(
  statements: S,
  options?: PipelineOptions,
) => ReturnType<typeof sendTogether<S>>;

/** Runs a statement that changes nothing. */
export type Read = <Row>(statement: CompiledQuery<Row>) => Promise<Row[]>;

/**
 * PostgreSQL assumes that an array of keys has ten elements, so a plan for the usual one or two looks cheaper. It would plan
 * the statement on every run, which takes longer than running it.
 */
const GENERIC_PLANS = '; set local plan_cache_mode = force_generic_plan';

/** The connection is taken by the first batch, which also begins the transaction. */
export const createRunPipeline =
  (pool: pg.Pool): RunPipeline =>
  async (work, { hasGenericPlans = true } = {}) => {
    let client: pg.PoolClient | undefined;
    let isOpen = false;
    let isBroken = false;

    const sendBatch = async <const S extends readonly CompiledQuery<unknown>[]>(
      statements: S,
      end?: string,
    ) => {
      const begin = isOpen ? [] : [hasGenericPlans ? `begin${GENERIC_PLANS}` : 'begin'];
      client ??= await pool.connect();
      isOpen = end === undefined;
      try {
        return await sendTogether(client, begin, statements, end === undefined ? [] : [end]);
      } catch (error) {
        isBroken = !isOfStatement(error);
        throw error;
      }
    };
    const send: Send = (statements) => traced(statements, () => sendBatch(statements));
    const commit: Send = (statements) => traced(statements, () => sendBatch(statements, 'commit'));
    try {
      return await work({ send, commit });
    } finally {
      if (isOpen && !isBroken) await client?.query('rollback').catch(() => (isBroken = true));
      client?.release(isBroken);
    }
  };

const traced = <T>(statements: readonly CompiledQuery<unknown>[], send: () => Promise<T>): Promise<T> => {
  const span = tracing.startStatements(() => statements.map(({ sql }) => sql));
  return endWith(span, send());
};

/** One write: it costs one system call, and an instance that freezes cannot leave half of a batch behind. */
const sendTogether = async <const S extends readonly CompiledQuery<unknown>[]>(
  client: pg.PoolClient,
  before: readonly string[],
  statements: S,
  after: readonly string[],
) => {
  const { stream } = client.connection;
  stream.cork();
  const sent = Promise.allSettled([
    ...before.map((text) => client.query(text)),
    ...statements.map(({ sql, parameters }) => client.query(sql, [...parameters])),
    ...after.map((text) => client.query(text)),
  ]);
  stream.uncork();
  telemetry.roundTrip.publish(() => ({ statements: before.length + statements.length + after.length }));
  const results = await sent;
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
  const rows = results
    .slice(before.length, before.length + statements.length)
    .map((result) => result.status === 'fulfilled' && result.value.rows);
  // The rows are what the statements' types say, as with Kysely, whose statements they are.
  return rows as { -readonly [K in keyof S]: RowsOf<S[K]> };
};

export const createTransact = (runPipeline: RunPipeline): Transact => {
  return (statements, options) => runPipeline(({ commit }) => commit(statements), options);
};

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
    // Each caller has its own span.
    tracing.runIn(null, () => void run(batch));
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
    const rows = new Promise<Row[]>((resolve, reject) => {
      // As above: the rows are what the statement's type says.
      requested.push({ statement, resolve: resolve as Requested['resolve'], reject });
      if (requested.length === 1) setImmediate(sendAll);
    });
    return endWith(span, rows);
  };
};

/** `lock_timeout` and `statement_timeout`: the statements have waited long enough. */
const isTimeout = (error: unknown): boolean => ['55P03', '57014'].includes(errorCodeOf(error) ?? '');
