import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import { cutConnection } from './database-cut.ts';
import { Exchange, type Prepared } from './database-exchange.ts';

type RowsOf<S> = S extends CompiledQuery<infer Row> ? Row[] : never;

/** Sends statements in one write, and answers the rows of each. After one that fails the rest is not run. */
export type Send = <const S extends readonly CompiledQuery<unknown>[]>(
  statements: S,
) => Promise<{ -readonly [K in keyof S]: RowsOf<S[K]> }>;

export type Steps = {
  send: Send;
  /** Commits along with them: nothing may follow. */
  sendLast: Send;
};

/**
 * A transaction of few steps, each of them one exchange with the server: it begins with the first and is committed with
 * the last. What `work` throws takes it back.
 */
export type Transact = <T>(work: (steps: Steps) => Promise<T>) => Promise<T>;

const BEGIN = CompiledQuery.raw('begin');
const COMMIT = CompiledQuery.raw('commit');
const ROLLBACK = CompiledQuery.raw('rollback');
const NAME_PREFIX = 'step_';

/** @param limitMs as for other queries: past it the server no longer answers, and the connection is cut; null: none */
export const createTransactions = (pool: pg.Pool, limitMs: number | null): Transact => {
  const exchange = (client: pg.PoolClient, statements: readonly CompiledQuery<unknown>[]) =>
    new Promise<object[][]>((resolve, reject) => {
      const steps = statements.map((statement) => ({
        statement,
        prepared: preparedOn(client, statement.sql),
      }));
      const giveUp = () => {
        reject(new Error('Query read timeout'));
        cutConnection(client);
      };
      let timer: NodeJS.Timeout | undefined;
      const query = new Exchange(client, steps, (error, rows) => {
        clearTimeout(timer);
        if (error) reject(error);
        else resolve(rows);
      });
      if (limitMs !== null) timer = setTimeout(giveUp, limitMs);
      client.query(query);
    });

  return async (work) => {
    const client = await pool.connect();
    // A lost connection fails the statement at hand, or the next; without a listener it would end the process.
    client.on('error', ignore);
    const transaction = begun((statements) => exchange(client, statements));
    // The rows are what the statements' types say, as with Kysely, whose statements they are.
    const [outcome] = await Promise.allSettled([work(transaction.steps as unknown as Steps)]);
    const [ending] = await Promise.allSettled([transaction.end(outcome.status === 'fulfilled')]);
    client.off('error', ignore);
    client.release(ending.status === 'rejected' || hasUnknown(ofClient.get(client)));
    if (outcome.status === 'rejected') throw outcome.reason;
    if (ending.status === 'rejected') throw ending.reason;
    return outcome.value;
  };
};

type Statements = readonly CompiledQuery<unknown>[];

const begun = (exchange: (statements: Statements) => Promise<object[][]>) => {
  let state: 'new' | 'open' | 'over' | 'lost' = 'new';
  const told = async (statements: Statements) => {
    if (state === 'over') throw new Error('the transaction is over');
    const begin = state === 'new' ? [BEGIN] : [];
    state = 'open';
    try {
      return (await exchange([...begin, ...statements])).slice(begin.length);
    } catch (error) {
      if (!isOfStatement(error)) state = 'lost';
      throw error;
    }
  };
  const commit = async (statements: Statements) => {
    const rows = await told([...statements, COMMIT]);
    state = 'over';
    return rows.slice(0, -1);
  };
  return {
    steps: { send: told, sendLast: commit },
    /** @throws Error when the connection is of no more use */
    end: async (isGood: boolean): Promise<void> => {
      if (state === 'lost') throw new Error('the connection was lost');
      if (state === 'open') await (isGood ? commit([]) : told([ROLLBACK]));
    },
  };
};

/** Whether a failure leaves the connection as good as it was. */
const isOfStatement = (error: unknown): boolean =>
  error instanceof Error && 'severity' in error && error.severity === 'ERROR';

/** By their texts, which are few: they come from statements that are compiled once. */
const names = new Map<string, string>();
/** By name. */
const ofClient = new WeakMap<pg.PoolClient, Map<string, Prepared>>();

const preparedOn = (client: pg.PoolClient, sql: string): Prepared => {
  const name = names.get(sql) ?? `${NAME_PREFIX}${names.size}`;
  names.set(sql, name);
  const known = ofClient.get(client) ?? new Map<string, Prepared>();
  ofClient.set(client, known);
  const prepared = known.get(name) ?? { name, isSent: false, readRow: undefined };
  known.set(name, prepared);
  return prepared;
};

/** Whether a failure has left open which statements are prepared. */
const hasUnknown = (prepared: Map<string, Prepared> | undefined): boolean =>
  [...(prepared?.values() ?? [])].some(({ readRow }) => readRow === undefined);

const ignore = (): void => {};
