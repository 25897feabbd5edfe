import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeTempDir } from '../../src/adapters/embedded-postgres/account.ts';
import { waitUntilReady } from '../../src/adapters/embedded-postgres/readiness.ts';
import { openLogFile, spawnServer, stopServer } from '../../src/adapters/embedded-postgres/server.ts';
import type { Connection } from '../../src/config/connection.ts';
import { POSTGRES_FOLDER } from '../failover/programs.ts';

export const PG_DUMP = join(POSTGRES_FOLDER, 'pg_dump');

/** Debian's. PostgreSQL refuses to run as root, and `initdb` as a user without a name. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const ROLE = 'steward';
const INITDB = ['-U', ROLE, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];

/** Starts a new server of Debian's PostgreSQL, which `pg_dump` of the same package can read. Disposing it removes it. */
export const startDebianServer = async (): Promise<AsyncDisposable & { connection: Connection }> => {
  await using closing = new AsyncDisposableStack();
  const remove = (path: string) => () => rm(path, { recursive: true, force: true });
  const logs = await makeTempDir();
  closing.defer(remove(logs));
  const account = process.getuid?.() === 0 ? NOBODY : undefined;
  const folder = await makeTempDir(account);
  closing.defer(remove(folder));
  const clusterDir = join(folder, 'cluster');
  const programs = {
    initdb: join(POSTGRES_FOLDER, 'initdb'),
    postgres: join(POSTGRES_FOLDER, 'postgres'),
    major: '',
  };
  await promisify(execFile)(programs.initdb, ['-D', clusterDir, ...INITDB], { cwd: folder, ...account });
  const log = await openLogFile(logs);
  closing.defer(log.close);
  const settings = { fsync: 'off' };
  const server = spawnServer({ clusterDir, binaries: programs, account, log, socketDir: folder, settings });
  closing.defer(() => stopServer(server));
  const connection = { host: folder, port: 5432, user: ROLE, password: '', database: 'postgres' };
  await waitUntilReady(server, connection, log);
  const open = closing.move();
  return { connection, [Symbol.asyncDispose]: () => open.disposeAsync() };
};
