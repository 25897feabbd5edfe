import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import {
  createExchanges,
  type ExchangeOptions,
  FORCE_GENERIC_PLAN,
  hasUnknownStatements,
  type Statements,
} from './pipeline.ts';
import { isOfStatement, withClient } from './with-client.ts';

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
export type Transact = <T>(work: (steps: Steps) => Promise<T>, options?: TransactOptions) => Promise<T>;

export type TransactOptions = {
  /** False for statements whose values decide how they are best planned, such as long lists. Default: true. */
  hasGenericPlans?: boolean;
};

const BEGIN = CompiledQuery.raw('begin');
const COMMIT = CompiledQuery.raw('commit');
const ROLLBACK = CompiledQuery.raw('rollback');

export const createTransactions = (pool: pg.Pool, options: ExchangeOptions): Transact => {
  const exchange = createExchanges(options);

  return async (work, { hasGenericPlans = true } = {}) => {
    const head = hasGenericPlans ? [BEGIN, FORCE_GENERIC_PLAN] : [BEGIN];
    let isLost = false;
    const whole = async (client: pg.PoolClient) => {
      const transaction = begun(head, (statements) => exchange(client, statements));
      // The rows are what the statements' types say, as with Kysely, whose statements they are.
      const [outcome] = await Promise.allSettled([work(transaction.steps as unknown as Steps)]);
      const [ending] = await Promise.allSettled([transaction.end(outcome.status === 'fulfilled')]);
      isLost = ending.status === 'rejected';
      if (outcome.status === 'rejected') throw outcome.reason;
      if (ending.status === 'rejected') throw ending.reason;
      return outcome.value;
    };
    return withClient(pool, whole, (client) => isLost || hasUnknownStatements(client));
  };
};

const begun = (head: Statements, exchange: (statements: Statements) => Promise<object[][]>) => {
  let state: 'new' | 'open' | 'over' | 'lost' = 'new';
  const told = async (statements: Statements) => {
    if (state === 'over') throw new Error('the transaction is over');
    const begin = state === 'new' ? head : [];
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
