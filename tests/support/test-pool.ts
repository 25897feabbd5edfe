import pg from 'pg';
import type { Connection } from '../../src/config/connection.ts';

/**
 * A pool for a test that needs no more of the service. Its connections may be lost at any time: `end` does not wait until the
 * server has heard of it, so that dropping the database cuts some of them off.
 */
export const createTestPool = (connection: Connection, options: { max?: number } = {}): pg.Pool => {
  const pool = new pg.Pool({ ...connection, ...options });
  pool.on('error', () => undefined); // without a listener a lost connection would end the process
  return pool;
};
