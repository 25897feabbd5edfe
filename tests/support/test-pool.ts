import pg from 'pg';
import type { Connection } from '../../src/config/connection.ts';
import { pooledClientClass } from '../../src/db/pooled-client.ts';
import { SocketClient } from '../../src/db/single-client.ts';

type Options = { max?: number; limitMs?: number | null };

/**
 * A connection pool with the service's clients, for a test that needs no service. `end` does not wait until the server has closed the connections, so
 * dropping the database afterwards may terminate some of them.
 */
export const createTestPool = (
  connection: Connection,
  { limitMs = null, ...options }: Options = {},
): pg.Pool => {
  const { preparesStatements } = connection;
  const Client = pooledClientClass(SocketClient, { limitMs, preparesStatements });
  // The driver's types say that its class takes no configuration.
  const pool = new pg.Pool({ ...connection, Client: Client as never, ...options });
  pool.on('error', () => undefined); // without a listener a lost connection would end the process
  return pool;
};
