import type { CompiledQuery } from 'kysely';
import type pg from 'pg';
import { beforeDeadline, withoutDeadline } from '../lib/deadline.ts';
import { errorCodeOf } from '../lib/errno.ts';
import {
  createExchanges,
  type ExchangeOptions,
  FORCE_GENERIC_PLAN,
  hasUnknownStatements,
} from './pipeline.ts';
import { isOfStatement, withClient } from './with-client.ts';

/** Runs a statement that changes nothing. */
export type Read = <Row>(statement: CompiledQuery<Row>) => Promise<Row[]>;

type Asked = {
  statement: CompiledQuery<unknown>;
  resolve: (rows: object[]) => void;
  reject: (error: unknown) => void;
};

/**
 * Reads by small statements: those of one turn of the event loop go to the server in one write, on one connection. For
 * statements that are done at once, as each waits for those before it.
 */
export const createReads = (pool: pg.Pool, options: ExchangeOptions): Read => {
  const exchange = createExchanges(options);
  let asked: Asked[] = [];

  const sendAll = (): void => {
    const sent = asked;
    asked = [];
    void withoutDeadline(() => answer(sent));
  };

  const rowsOf = async (client: pg.PoolClient, sent: readonly Asked[]): Promise<object[][]> =>
    (await exchange(client, [FORCE_GENERIC_PLAN, ...sent.map(({ statement }) => statement)])).slice(1);

  const answer = async (sent: readonly Asked[]): Promise<void> => {
    const all = withClient(
      pool,
      (client) => rowsOf(client, sent),
      (client, outcome) =>
        outcome.status === 'rejected' && (!isOfStatement(outcome.reason) || hasUnknownStatements(client)),
    );
    const [outcome] = await Promise.allSettled([all]);
    if (outcome.status === 'fulfilled') {
      for (const [index, { resolve }] of sent.entries()) resolve(outcome.value[index] ?? []);
    } else if (sent.length > 1 && isOfStatement(outcome.reason) && !isTimeout(outcome.reason)) {
      // It is one of them that has failed: the others have nothing to do with it.
      for (const one of sent) void answer([one]);
    } else {
      for (const { reject } of sent) reject(outcome.reason);
    }
  };

  return <Row>(statement: CompiledQuery<Row>) =>
    beforeDeadline(
      new Promise<Row[]>((resolve, reject) => {
        // The rows are what the statement's type says, as with Kysely, whose statement it is.
        asked.push({ statement, resolve: resolve as Asked['resolve'], reject });
        if (asked.length === 1) setImmediate(sendAll);
      }),
    );
};

/** `lock_timeout` and `statement_timeout`: what has waited in vain once is not to wait again. */
const isTimeout = (error: unknown): boolean => ['55P03', '57014'].includes(errorCodeOf(error) ?? '');
