import type { Compilable, CompiledQuery } from 'kysely';
import type pg from 'pg';
import { telemetry } from '../lib/telemetry.ts';
import { endWith, tracing } from '../lib/tracing.ts';
import { isOfStatement } from './database-errors.ts';
import type { BatchedQuery } from './pooled-client.ts';

/** Runs a query that changes nothing. */
export type Read = <Row>(query: Compilable<Row>) => Promise<Row[]>;

type Requested = {
  statement: CompiledQuery<unknown>;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
};

/**
 * Batches small reads per tick, like DataLoader: they share a connection and a round trip. Only for fast statements, because each waits for
 * the ones before it. If one fails, the others do not.
 */
export const createRead = (pool: pg.Pool): Read => {
  let requested: Requested[] = [];

  const sendAll = (): void => {
    const batch = requested;
    requested = [];
    // Each caller has its own span.
    tracing.runIn(null, () => void readTogether(pool, batch));
  };

  return <Row>(query: Compilable<Row>) => {
    const statement = query.compile();
    const span = tracing.startStatement(() => statement.sql);
    const rows = new Promise<Row[]>((resolve, reject) => {
      // The rows have the type of the statement, which Kysely compiled.
      requested.push({ statement, resolve: resolve as Requested['resolve'], reject });
      if (requested.length === 1) setImmediate(sendAll);
    });
    return endWith(span, rows);
  };
};

const readTogether = async (pool: pg.Pool, batch: readonly Requested[]): Promise<void> => {
  const [connected] = await Promise.allSettled([pool.connect()]);
  if (connected.status === 'rejected') {
    for (const { reject } of batch) reject(connected.reason);
    return;
  }
  const client = connected.value;
  telemetry.roundTrip.publish(() => ({ statements: batch.length }));
  const results = await Promise.allSettled(
    batch.map(({ statement: { sql, parameters } }) => {
      const query: BatchedQuery = { text: sql, values: [...parameters], isBatched: true };
      return client.query<Record<string, unknown>>(query);
    }),
  );
  client.release(results.some((result) => result.status === 'rejected' && !isOfStatement(result.reason)));
  for (const [index, { resolve, reject }] of batch.entries()) {
    const result = results[index];
    if (result?.status === 'fulfilled') resolve(result.value.rows);
    else reject(result?.reason);
  }
};
