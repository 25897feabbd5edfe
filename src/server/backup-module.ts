import manifest from '../../package.json' with { type: 'json' };
import { openBackupStore } from '../adapters/backup-store/open-backup-store.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import type { Config } from '../config/config.ts';
import type { Connection } from '../config/connection.ts';
import type { Db } from '../db/kysely.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createScheduler } from './scheduler.ts';

/** How often to look whether a backup is due. */
const INTERVAL_MS = 60_000;

type Deps = {
  config: Config;
  connection: Connection;
  secretKey: string;
  orm: { em: { fork(): Db } };
  clock: Clock;
  logger: Logger;
  store: PackageStore;
};

/** Makes the backups of BACKUP_TARGET; null without it. */
export const createBackupModule = async (deps: Deps) => {
  const { config, connection, secretKey, orm, clock, logger, store: packages } = deps;
  const { target, passphrase } = config.backup;
  if (!target) return null;
  // Loaded only where it is used, as the S3 client is.
  const { runScheduledBackup } = await import('../backup/scheduled-backup.ts');
  const store = await openBackupStore(target);
  const key = passphrase ? { secretKey, passphrase } : null;
  const stopping = new AbortController();
  const backup = () =>
    runScheduledBackup(
      {
        fork: () => orm.em.fork(),
        connection,
        clock,
        logger,
        store,
        packages,
        version: manifest.version,
        key,
        schedule: config.backup,
      },
      stopping.signal,
    );
  const scheduler = createScheduler({ logger, intervalMs: INTERVAL_MS, tasks: { backup } });
  return {
    start: scheduler.start,
    /** Ends a running backup. */
    stop: (): Promise<void> => {
      stopping.abort(new Error('The service stops.'));
      return scheduler.stop();
    },
  };
};
