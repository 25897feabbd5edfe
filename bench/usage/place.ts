import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { joinEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { type Config, readConfig } from '../../src/config/config.ts';
import type { Connection } from '../../src/config/connection.ts';
import { withDatabaseHost } from '../../src/server/database-host.ts';
import { freePort } from '../../tests/support/free-port.ts';
import { npmScript } from '../../tests/support/npm-script.ts';
import { type Service, startService } from '../../tests/support/service-process.ts';
import { PASSWORD } from '../data/content.ts';
import { fillDatabase, NotEmpty } from '../data/fill.ts';
import { ROOT } from '../data/people.ts';
import type { Plan } from '../data/plan.ts';

export type Place = {
  service: Service;
  token: string;
  connection: Connection;
  /** A session of our own on the service's database. */
  database: Client;
  /** null for a server that is not ours. */
  postmaster: number | null;
};

type Options = {
  dataDir: string | undefined;
  plan: Plan;
  /** Of node's, beside those of `npm start`. */
  nodeOptions: string;
};

/** The service as `npm start` runs it, in production mode, over a database filled by the plan, unless it is filled already. */
export const openPlace = async (
  { dataDir, plan, nodeOptions }: Options,
  closing: AsyncDisposableStack,
): Promise<Place> => {
  const folder = dataDir ? resolve(dataDir) : await makeFolder(closing);
  const config = readConfig({ ...process.env, DATA_DIR: folder });
  await withDatabaseHost(config, ({ connection }) => fillOnce(connection, plan));

  const script = npmScript('start');
  const service = await startService(
    'serve',
    {
      ...script.settings,
      DATA_DIR: folder,
      NODE_ENV: 'production',
      // The peers write no access log.
      LOG_LEVEL: 'warn',
      PORT: String(await freePort()),
      ...databaseOf(process.env),
    },
    [...script.nodeOptions, ...nodeOptions.split(' ').filter(Boolean)],
  );
  // Gently: a profile is written at the end.
  closing.defer(async () => {
    await service.kill('SIGTERM');
  });
  const { connection, database } = await openSession(config, folder, closing);
  const { token } = await service.logIn(ROOT, PASSWORD);
  const postmaster = config.database ? null : await postmasterOf(folder);
  return { service, token, connection, database, postmaster };
};

const makeFolder = async (closing: AsyncDisposableStack): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'steward-bench-'));
  closing.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
};

const fillOnce = async (connection: Connection, plan: Plan): Promise<void> => {
  await fillDatabase(connection, plan).catch((error: unknown) => {
    if (!(error instanceof NotEmpty)) throw error;
  });
};

const databaseOf = ({ DATABASE_URL, SECRET_KEY }: NodeJS.ProcessEnv): Record<string, string> =>
  DATABASE_URL && SECRET_KEY ? { DATABASE_URL, SECRET_KEY } : {};

const openSession = async (
  config: Config,
  folder: string,
  closing: AsyncDisposableStack,
): Promise<Pick<Place, 'connection' | 'database'>> => {
  const joined = config.database ? null : await joinEmbeddedPostgres(folder);
  if (joined) closing.defer(joined.leave);
  const connection = config.database ?? joined?.connection;
  if (!connection) throw new Error('The database takes no logins.');
  const database = new Client({
    ...connection,
    // A checkpoint, which the comparison asks for, is not for the service's own role.
    ...(joined && { user: 'postgres' }),
    application_name: 'steward bench',
    options: '-c TimeZone=UTC',
  });
  await database.connect();
  closing.defer(() => database.end());
  return { connection, database };
};

const postmasterOf = async (folder: string): Promise<number> => {
  const [pid = ''] = (await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  return Number(pid);
};
