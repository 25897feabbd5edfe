import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { Connection } from '../../src/config/connection.ts';
import { createPool, type DatabasePool } from '../../src/db/pool.ts';
import { administer, dropStatements, SERVER_VARIABLE, type TestServer } from './test-server.ts';

export type TestDatabase = { connection: Connection; drop(): Promise<void> };

const readServer = (): TestServer => {
  const variable = process.env[SERVER_VARIABLE];
  if (variable) return JSON.parse(variable);
  const file = basename(process.argv[1] ?? '');
  throw new Error(`This test needs the runner's database. Run it by: npm run test:one ${file}`);
};

/** Makes a migrated database for a test file, empty or with the demo workspace. Takes about 50 ms. */
export const createTestDatabase = async (content: 'empty' | 'demo' = 'empty'): Promise<TestDatabase> => {
  const { connection, template, strategy, pooler } = readServer();
  const database = `${template}_${randomBytes(6).toString('hex')}`;
  await administer(
    connection,
    `create database ${database} template ${content === 'demo' ? `${template}_demo` : template} ${strategy}`,
  );
  return {
    connection: { ...connection, ...pooler, database },
    drop: () => administer(connection, ...dropStatements(database)),
  };
};

type Options = { max?: number; limitMs?: number | null };

/**
 * The service's connection pool, for a test that needs no service. `end` does not wait until the server has closed the connections, so
 * dropping the database afterwards may terminate some of them.
 */
export const createTestPool = (
  connection: Connection,
  { limitMs = null, max = 10 }: Options = {},
): DatabasePool => createPool({ ...connection, poolSize: max }, limitMs);
