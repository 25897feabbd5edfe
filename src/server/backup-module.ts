import manifest from '../../package.json' with { type: 'json' };
import { openBackupStore } from '../adapters/backup-store/backup-store.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import type { Config } from '../config/config.ts';
import type { Connection } from '../config/connection.ts';
import type { Db } from '../db/kysely.ts';
import { type Clock, HOUR_MS } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createScheduler } from './scheduler.ts';

/** How often to look whether a backup is due. */
const INTERVAL_MS = 60_000;
/** A backup that takes longer has failed, for example because its target does not answer. */
const LIMIT_MS = 24 * HOUR_MS;

type Deps = {
  config: Config;
  connection: Connection;
  secretKey: string;
  orm: { em: { fork(): Db } };
  clock: Clock;
  logger: Logger;
  store: PackageStore;
};

/** The scheduler that makes the backups of BACKUP_TARGET; null without it. */
export const createBackupModule = async (deps: Deps) => {
  const { config, connection, secretKey, orm, clock, logger, store: packages } = deps;
  const { target, passphrase } = config.backup;
  if (!target) return null;
  // Loaded only where it is used, as the S3 client is.
  const { runScheduledBackup } = await import('../backup/scheduled-backup.ts');
  const store = await openBackupStore(target);
  const key = passphrase ? { secretKey, passphrase } : null;
  const backup = (signal: AbortSignal) =>
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
      signal,
    );
  return createScheduler({ logger, intervalMs: INTERVAL_MS, limitMs: LIMIT_MS, tasks: { backup } });
};
