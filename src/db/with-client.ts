import type pg from 'pg';
import { boundedWait, DeadlineExceeded } from '../lib/deadline.ts';

/**
 * Lends a connection of the pool to some work; one that is spoilt by it does not go back.
 * @throws what the work throws
 */
export const withClient = async <T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  isSpoilt: (client: pg.PoolClient, outcome: PromiseSettledResult<T>) => boolean,
): Promise<T> => {
  const client = await pool.connect();
  // A lost connection fails the statement at hand, or the next; without a listener it would end the process.
  client.on('error', ignore);
  const [outcome] = await Promise.allSettled([work(client)]);
  client.off('error', ignore);
  client.release(isSpoilt(client, outcome));
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
};

const ignore = (): void => {};

/** Whether a failure leaves the connection as good as it was. */
export const isOfStatement = (error: unknown): boolean =>
  error instanceof Error && 'severity' in error && error.severity === 'ERROR';

/**
 * Bounds a query by its own limit (milliseconds; null: none) and by the current deadline. Past either it fails, and its
 * connection is cut: the server no longer answers, or the answer is of no use any more.
 * @returns what ends the watch; null when no time is left: the query has failed and must not be sent
 */
export const watchQuery = (
  client: pg.ClientBase,
  limitMs: number | null,
  fail: (error: Error) => void,
): (() => void) | null => {
  const ms = boundedWait(limitMs);
  if (ms === null) return () => {};
  const giveUp = () => {
    fail(ms === limitMs ? new Error('Query read timeout') : new DeadlineExceeded());
    cutConnection(client);
  };
  if (ms <= 0) {
    giveUp();
    return null;
  }
  const timer = setTimeout(giveUp, ms);
  return () => clearTimeout(timer);
};

/** Ends a connection whose server no longer answers. `pg` has no word for it but `end`, which would wait for the server. */
const cutConnection = (client: pg.ClientBase): void => {
  const { connection } = client as unknown as { connection: pg.Connection }; // not in its types
  connection.stream.destroy();
};
