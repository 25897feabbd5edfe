import type { Connection } from '../config/connection.ts';
import { createClient } from './single-client.ts';

/**
 * Takes an advisory lock until it is disposed of, or the process ends. The lock belongs to a transaction on a connection of
 * its own: behind a pooler, a session-level lock would outlive the client.
 * @param key an arbitrary number that all instances share
 * @returns null if another process has the lock
 */
export const tryAdvisoryLock = async (
  connection: Connection,
  purpose: string,
  key: number,
): Promise<AsyncDisposable | null> => {
  const client = createClient(connection, purpose);
  await client.connect();
  try {
    await client.query('begin');
    await client.query('set local idle_in_transaction_session_timeout = 0');
    const { rows } = await client.query('select pg_try_advisory_xact_lock($1) as "isHeld"', [key]);
    if (rows[0]?.isHeld === true) return { [Symbol.asyncDispose]: () => client.end() };
  } catch (error) {
    await client.end();
    throw error;
  }
  await client.end();
  return null;
};
