import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { createFolderBackupStore } from '../adapters/backup-store/backup-store.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import { checkBackup, restoreBackup } from '../backup/restore-backup.ts';
import { writeBackup } from '../backup/write-backup.ts';
import type { Connection } from '../config/connection.ts';
import { openUnlimitedSession } from '../db/client.ts';
import { readSchemaState } from '../db/migrate.ts';
import { systemClock } from '../lib/clock.ts';
import { OperatorError } from '../lib/errno.ts';

const FOLDER = 'upgrade';
const NAME = 'data.tar';

/** Packages are not in the database. */
const NO_PACKAGES: Pick<PackageStore, 'list' | 'open'> = { list: async () => [], open: async () => null };

/**
 * Copies all rows into an empty database, and compares them. The data goes through a backup file in DATA_DIR, which is removed
 * afterwards.
 */
export const copyDatabase = async (from: Connection, to: Connection, dataDir: string): Promise<void> => {
  if (!(await isMigrated(from))) return;
  const folder = join(dataDir, FOLDER);
  await rm(folder, { recursive: true, force: true });
  try {
    const store = createFolderBackupStore(folder);
    await writeBackup(store, NAME, {
      connection: from,
      packages: NO_PACKAGES,
      version: manifest.version,
      now: systemClock.now(),
      secretKey: '',
      passphrase: null,
      withHistory: true,
    });
    const checked = await checkBackup(await store.open(NAME), null);
    const foreign = await restoreBackup(await store.open(NAME), checked, {
      connection: to,
      publishPackage: async () => {},
      onTable: () => {},
    });
    if (foreign.length > 0)
      throw new OperatorError(
        `The embedded database also has the tables ${foreign.join(', ')}, which an upgrade does not move. Move them elsewhere with the version of Steward that you used before, and drop them.`,
      );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const isMigrated = async (connection: Connection): Promise<boolean> => {
  await using client = await openUnlimitedSession(connection);
  return (await readSchemaState(client)).applied !== null;
};
