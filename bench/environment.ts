import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { attachToEmbeddedPostgres } from '../src/adapters/embedded-postgres/index.ts';
import { type Config, readConfig } from '../src/config/config.ts';
import type { Connection } from '../src/config/connection.ts';
import { withDatabaseHost } from '../src/server/database-host.ts';
import { type Service, startService } from '../tests/support/service-process.ts';
import { freePort } from '../tests/support/tcp.ts';
import { PASSWORD } from './data/content.ts';
import { DatabaseNotEmpty, fillDatabase } from './data/fill.ts';
import { ROOT } from './data/people.ts';
import type { Plan } from './data/plan.ts';

export type Environment = {
  service: Service;
  token: string;
  connection: Connection;
  /** A connection for the benchmark itself. */
  database: Client;
  /** null for an external server. */
  postmaster: number | null;
};

type Options = {
  dataDir: string | undefined;
  plan: Plan;
  /** For profiles. */
  nodeOptions: string;
};

/** Starts the service as `npm start` does, in production mode, after filling its database unless it has data. */
export const openEnvironment = async (
  { dataDir, plan, nodeOptions }: Options,
  cleanup: AsyncDisposableStack,
): Promise<Environment> => {
  const folder = dataDir ? resolve(dataDir) : await createTempFolder(cleanup);
  const config = readConfig({ ...process.env, DATA_DIR: folder });
  await withDatabaseHost(config, ({ connection }) => fillUnlessFilled(connection, plan));

  const service = await startService(
    'serve',
    {
      DATA_DIR: folder,
      NODE_ENV: 'production',
      // The peers write no access log.
      LOG_LEVEL: 'warn',
      PORT: String(await freePort()),
      ...externalDatabase(process.env),
    },
    nodeOptions.split(' ').filter(Boolean),
  );
  // SIGTERM: Node writes a CPU profile when it exits.
  cleanup.defer(async () => {
    await service.kill('SIGTERM');
  });
  const { connection, database } = await connectToDatabase(config, folder, cleanup);
  const { token } = await service.logIn(ROOT, PASSWORD);
  const postmaster = config.database ? null : await readPostmasterPid(folder);
  return { service, token, connection, database, postmaster };
};

const createTempFolder = async (cleanup: AsyncDisposableStack): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'steward-bench-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
};

const fillUnlessFilled = async (connection: Connection, plan: Plan): Promise<void> => {
  await fillDatabase(connection, plan).catch((error: unknown) => {
    if (!(error instanceof DatabaseNotEmpty)) throw error;
  });
};

const externalDatabase = ({ DATABASE_URL, SECRET_KEY }: NodeJS.ProcessEnv): Record<string, string> =>
  DATABASE_URL && SECRET_KEY ? { DATABASE_URL, SECRET_KEY } : {};

const connectToDatabase = async (
  config: Config,
  folder: string,
  cleanup: AsyncDisposableStack,
): Promise<Pick<Environment, 'connection' | 'database'>> => {
  const joined = config.database ? null : await attachToEmbeddedPostgres(folder);
  if (joined) cleanup.defer(joined.detach);
  const connection = config.database ?? joined?.connection;
  if (!connection) throw new Error('The embedded database accepts no connections.');
  const database = new Client({
    ...connection,
    // Only a superuser may run CHECKPOINT.
    ...(joined && { user: 'postgres' }),
    application_name: 'steward bench',
    options: '-c TimeZone=UTC',
  });
  await database.connect();
  cleanup.defer(() => database.end());
  return { connection, database };
};

const readPostmasterPid = async (folder: string): Promise<number> => {
  const [pid = ''] = (await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  return Number(pid);
};
