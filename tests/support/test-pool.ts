import type { Connection } from '../../src/config/connection.ts';
import { createPool, type DatabasePool } from '../../src/db/pool.ts';

type Options = { max?: number; limitMs?: number | null };

/**
 * The service's connection pool, for a test that needs no service. `end` does not wait until the server has closed the connections, so
 * dropping the database afterwards may terminate some of them.
 */
export const createTestPool = (
  connection: Connection,
  { limitMs = null, max = 10 }: Options = {},
): DatabasePool => createPool({ ...connection, poolSize: max }, limitMs);
