import { join } from 'node:path';
import { hasCluster } from '../adapters/embedded-postgres/index.ts';
import type { Config } from '../config/config.ts';
import type { Connection } from '../config/connection.ts';
import { openDatabase } from '../db/database.ts';
import { UnfinishedRestore } from '../db/database-errors.ts';
import { compareMigrations, readSchemaState } from '../db/migrate.ts';
import { reasonOf } from '../lib/errno.ts';
import { isWritable } from '../lib/files.ts';
import { sizePools, withDatabaseHost } from '../server/database-host.ts';
import { checkServiceData } from './check-service-data.ts';
import {
  judgeConnections,
  judgePrivileges,
  judgeSearch,
  judgeServer,
  judgeTls,
  readDatabaseFacts,
} from './database-findings.ts';
import { failure, findingsOf, ok, type Result } from './finding.ts';

/** Connects as the service does. Starts the embedded server if the service is not running, but never creates it. */
export const checkDatabase = async (config: Config): Promise<Result | Result[]> => {
  const { database, dataDir } = config;
  try {
    // If the data folder is not writable, its own check reports that.
    if (!database && !(await hasCluster(dataDir)))
      return (await isWritable(dataDir))
        ? ok(`The first start creates the embedded database in ${dataDir}.`)
        : [];
    // An empty key prevents the creation of a missing one.
    return await withDatabaseHost({ ...config, secretKey: '' }, ({ connection }) =>
      checkConnection(config, connection),
    );
  } catch (error) {
    if (error instanceof UnfinishedRestore)
      return failure(error.message, 'The service does not start until then.');
    return database
      ? failure(`The database cannot be used (${reasonOf(error)}).`, 'Check DATABASE_URL and the server.')
      : failure(reasonOf(error), `${join(dataDir, 'postgres.log')} has the server’s messages.`);
  }
};

const checkConnection = async (config: Config, connection: Connection): Promise<Result[]> => {
  await using orm = await openDatabase(connection);
  const client = await orm.pool.connect();
  try {
    const tables = [...orm.getMetadata().getAll().values()].map(({ tableName }) => tableName);
    const facts = await readDatabaseFacts(client, tables);
    const server = judgeServer(facts, config.database ? 'The server' : 'The embedded server');
    if (server.some(({ status }) => status === 'failure')) return server;

    const { isRestoring, applied } = await readSchemaState(client);
    if (isRestoring) throw new UnfinishedRestore();
    const { poolSize } = sizePools(config.workers);
    const findings = [
      ...server,
      ...findingsOf('privileges', judgePrivileges(facts)),
      ...findingsOf('connections', judgeConnections(facts, (poolSize + 1) * config.workers)),
      ...findingsOf('database TLS', judgeTls(facts, connection)),
    ];
    // A start applies pending migrations.
    if (applied === null || compareMigrations(applied).pending.length > 0) return findings;
    return [
      ...findings,
      ...findingsOf('user search', judgeSearch(facts)),
      ...(await checkServiceData(orm.em.fork(), config)),
    ];
  } finally {
    client.release();
  }
};
