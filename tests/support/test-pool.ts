import pg from 'pg';
import type { Connection } from '../../src/config/connection.ts';

/**
 * A connection pool for a test that needs no service. `end` does not wait until the server has closed the connections, so
 * dropping the database afterwards may terminate some of them.
 */
export const createTestPool = (connection: Connection, options: { max?: number } = {}): pg.Pool => {
  const pool = new pg.Pool({ ...connection, ...options });
  pool.on('error', () => undefined); // without a listener a lost connection would end the process
  return pool;
};
