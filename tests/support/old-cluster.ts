import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir, serverAccount } from '../../src/adapters/embedded-postgres/account.ts';
import { locateBinaries } from '../../src/adapters/embedded-postgres/binaries.ts';
import { DATABASE, ensureCluster, SERVICE_ROLE } from '../../src/adapters/embedded-postgres/cluster.ts';
import { waitUntilReady } from '../../src/adapters/embedded-postgres/readiness.ts';
import { openLogFile, spawnServer, stopServer } from '../../src/adapters/embedded-postgres/server.ts';
import type { Connection } from '../../src/config/connection.ts';
import { loadSecretKey } from '../../src/config/secret-file.ts';
import { OLD_PROGRAMS } from './programs.ts';

/** Creates an embedded database of the old version, as an older Steward did, and runs `fill` on it. */
export const createOldCluster = async (
  dataDir: string,
  fill: (connection: Connection) => Promise<void>,
): Promise<void> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await loadSecretKey(dataDir);
  const clusterDir = join(dataDir, 'postgres');
  const account = await serverAccount(dataDir, clusterDir);
  const binaries = await locateBinaries(account, dataDir, join(OLD_PROGRAMS, 'node_modules'));
  await using closing = new AsyncDisposableStack();
  const log = await openLogFile(dataDir);
  closing.defer(log.close);
  const options = { dataDir, clusterDir, account, binaries, log, settings: {} };
  const password = await ensureCluster(options);
  const socketDir = await makeTempDir(account);
  closing.defer(() => rm(socketDir, { recursive: true, force: true }));
  const server = spawnServer({ ...options, socketDir });
  closing.defer(() => stopServer(server));
  const connection = { host: socketDir, port: 5432, user: SERVICE_ROLE, password, database: DATABASE };
  await waitUntilReady(server, connection, log);
  await fill(connection);
};
