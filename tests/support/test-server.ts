import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import type { Connection } from '../../src/config/connection.ts';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { resolveTlsMode } from '../../src/db/client.ts';
import { ensureDirectory } from '../../src/lib/files.ts';
import { makeScratchFolder } from './files.ts';
import { NOON } from './time.ts';

/**
 * A server on which databases can be created, the template that they are copied from (`{template}_demo` has the demo
 * workspace), and the options of the copy.
 */
export type TestServer = {
  connection: Connection;
  template: string;
  strategy: string;
  /** The connection pooler that tests connect to, if there is one. */
  pooler?: Partial<Connection>;
};

export const DEMO_PASSWORD = 'steward-demo-1';

/** The lowest cost of argon2, so that logins in tests are fast. */
export const CHEAP_HASH = { memoryCost: 64, timeCost: 1, parallelism: 1 };

/** The environment variable that passes the server, as JSON, from the runner to the test files. */
export const SERVER_VARIABLE = 'STEWARD_TEST_SERVER';

type Owned = {
  connection: Connection;
  strategy: string;
  env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
};

/** With few buffers, dropping databases and starting backends is faster: it saves 0.1 s of CPU per test file. */
const SETTINGS = { fsync: 'off', shared_buffers: '32MB' };
/** With few buffers, half the cost of copying through the WAL. PostgreSQL 14 does not have this option. */
const STRATEGY = 'strategy file_copy';

const startEmbedded = async (): Promise<Owned> => {
  const folder = await mkdtemp(join(tmpdir(), 'steward-tests-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const original = join(folder, 'original');
    await createDatabase(original);
    const dataDir = join(folder, 'server');
    await copyDatabase(original, dataDir);
    const { connection, stop } = await startEmbeddedPostgres({ dataDir, postgresSettings: SETTINGS });
    const env = { [DATA_DIR_VARIABLE]: original };
    return { connection, strategy: STRATEGY, env, stop: () => stop().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
};

const openServer = async (): Promise<Owned> => {
  const url = process.env.TEST_DATABASE_URL;
  return url
    ? {
        connection: await resolveTlsMode(parseDatabaseUrl(url)),
        strategy: '',
        env: {},
        stop: async () => undefined,
      }
    : startEmbedded();
};

/** Runs statements on the server, outside any database under test. */
export const administer = async (connection: Connection, ...statements: string[]): Promise<void> => {
  const client = new Client(connection);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
};

/**
 * Statements that drop a database. Not `with (force)`: that fails while an autovacuum worker uses the database, which only a
 * superuser may terminate. A plain drop cancels the worker, and waits up to 5 s for the sessions terminated here.
 */
export const dropStatements = (database: string): [string, string] => [
  `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}' and usename = current_user`,
  `drop database if exists ${database}`,
];

/** Runs one statement on a new connection and returns its rows. */
export const queryOnce = async (
  connection: Connection,
  statement: string,
): Promise<Record<string, unknown>[]> => {
  const client = new Client(connection);
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
};

const makeTemplate = async (connection: Connection): Promise<string> => {
  // Loaded here, because a run with an existing server does not need it.
  const { migrateDatabase } = await import('../../src/db/migrate.ts');
  const template = `steward_template_${randomBytes(4).toString('hex')}`;
  await administer(connection, `create database ${template}`);
  await migrateDatabase({ ...connection, database: template });
  await administer(connection, `create database ${template}_demo template ${template}`);
  await fillTemplate({ ...connection, database: `${template}_demo` });
  return template;
};

/** Runs once for all tests, because filling the demo workspace is slow. */
const fillTemplate = async (connection: Connection): Promise<void> => {
  const { openDatabase } = await import('../../src/db/database.ts');
  const { createPasswordHasher } = await import('../../src/adapters/hashing/password-hasher.ts');
  const { fillDemo } = await import('../../src/demo/fill.ts');
  const orm = await openDatabase(connection);
  try {
    const hasher = await createPasswordHasher(2, CHEAP_HASH);
    await fillDemo({ em: orm.em.fork(), hasher, password: DEMO_PASSWORD, port: 8000, now: NOON });
  } finally {
    await orm.close(true);
  }
};

/** Drops the template, and the copies left by test files that crashed. */
const dropDatabases = async (connection: Connection, template: string): Promise<void> => {
  const client = new Client(connection);
  await client.connect();
  try {
    const { rows } = await client.query('select datname from pg_database where starts_with(datname, $1)', [
      template,
    ]);
    for (const { datname } of rows)
      for (const statement of dropStatements(datname)) await client.query(statement);
  } finally {
    await client.end();
  }
};

/** `TEST_POOLER_PORT`: the port of a pooler for that server, without prepared statements. */
const pooled = (): Pick<TestServer, 'pooler'> => {
  const port = Number(process.env.TEST_POOLER_PORT ?? 0);
  return port === 0 ? {} : { pooler: { host: '127.0.0.1', port, preparesStatements: false } };
};

/**
 * The server for a whole run: that of TEST_DATABASE_URL, or an embedded one that is removed afterwards.
 * @returns the environment variables that test files need
 */
export const startTestServer = async (): Promise<{ env: NodeJS.ProcessEnv; stop(): Promise<void> }> => {
  if (process.env[SERVER_VARIABLE]) return { env: {}, stop: async () => undefined };

  const { connection, strategy, env, stop } = await openServer();
  try {
    const template = await makeTemplate(connection);
    const server = { connection, template, strategy, ...pooled() } satisfies TestServer;
    return {
      env: { ...env, [SERVER_VARIABLE]: JSON.stringify(server) },
      stop: () => dropDatabases(connection, template).finally(stop),
    };
  } catch (error) {
    await stop();
    throw error;
  }
};

/** The environment variable that passes the DATA_DIR to copy from the runner to the test files. */
export const DATA_DIR_VARIABLE = 'STEWARD_TEST_DATA_DIR';

const DATABASE = ['postgres', 'database-password'];

/** Creates an empty database, as the first start of a service does. */
export const createDatabase = async (dataDir: string): Promise<void> => {
  const { stop } = await startEmbeddedPostgres({ dataDir, postgresSettings: { fsync: 'off' } });
  await stop();
};

/** Copies a database on which no server runs. */
export const copyDatabase = async (from: string, to: string): Promise<void> => {
  if (existsSync(join(to, 'postgres'))) throw new Error(`${to} already has a database.`);
  await ensureDirectory(to, 0o700);
  // Keeps the owner, which Node's `cp` does not.
  await promisify(execFile)('cp', ['-a', ...DATABASE.map((name) => join(from, name)), to]);
};

/**
 * Gives a DATA_DIR an empty database, as a first start does. It is a copy, which takes a quarter of the CPU time of `initdb`,
 * unless the runner has none, because of TEST_DATABASE_URL.
 * @returns the folder
 */
export const initializeDataDir = async (dataDir: string): Promise<string> => {
  const original = process.env[DATA_DIR_VARIABLE];
  await (original === undefined ? createDatabase(dataDir) : copyDatabase(original, dataDir));
  return dataDir;
};

/** Makes a temporary DATA_DIR with an empty database. Disposing it removes it. */
export const makeDataDir = async () => {
  const folder = await makeScratchFolder();
  await initializeDataDir(folder.path);
  return folder;
};
