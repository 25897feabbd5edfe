import { rm } from 'node:fs/promises';
import { Client } from 'pg';
import type { Connection } from '../../config/connection.ts';
import { SUPERUSER } from './initdb.ts';
import { waitUntilReady } from './readiness.ts';
import { type ServerOptions, spawnServer, stopServer } from './server.ts';
import { makeTempDir } from './temp-dir.ts';

/** What the service logs in as: the owner of its database, not a superuser, so that SQL cannot reach files or programs. */
export const SERVICE_ROLE = 'steward';
export const DATABASE = 'steward';

/** CREATEDB lets an operator restore a backup beside the live database. Passwords are hexadecimal. */
const statements = (password: string): string[] => [
  `alter role ${SUPERUSER} password '${password}'`,
  `create role ${SERVICE_ROLE} login createdb password '${password}'`,
  `create database ${DATABASE} owner ${SERVICE_ROLE}`,
];

type Passwords = { initial: string; password: string };

const run = async (connection: Connection, sql: string[]): Promise<void> => {
  const client = new Client(connection);
  // A lost connection also fails the statement that is running, which reports it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    for (const statement of sql) await client.query(statement);
  } finally {
    await client.end();
  }
};

/** Starts the server of a new cluster once to make the service's role and database, and to set the passwords. */
export const setUpRoles = async (
  options: Omit<ServerOptions, 'socketDir'>,
  { initial, password }: Passwords,
): Promise<void> => {
  await using closing = new AsyncDisposableStack();
  const socketDir = await makeTempDir(options.account);
  closing.defer(() => rm(socketDir, { recursive: true, force: true }));
  const server = spawnServer({ ...options, socketDir });
  closing.defer(() => stopServer(server));
  const connection = {
    host: socketDir,
    port: 5432,
    user: SUPERUSER,
    database: 'postgres',
    password: initial,
  };
  await waitUntilReady(server, connection, options.log);
  await run(connection, statements(password));
};
