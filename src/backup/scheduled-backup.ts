import type { BackupStore } from '../adapters/backup-store/backup-store.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import type { Connection } from '../config/connection.ts';
import { tryAdvisoryLock } from '../db/client.ts';
import type { Em } from '../db/kysely.ts';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/clock.ts';
import { reasonOf } from '../lib/errno.ts';
import type { Logger } from '../lib/logger.ts';
import {
  type BackupHistory,
  findInterrupted,
  forgetBackup,
  listArchives,
  pruneBackups,
  readBackupHistory,
  recordStart,
  updateBackup,
} from '../services/backups/backup-history.ts';
import { newBackupName, writeBackup } from './write-backup.ts';

/** An arbitrary number that all instances share. */
const BACKUP_LOCK = 7_305_130_503;

type ScheduledBackupDeps = {
  /** Creates an entity manager for a short operation. */
  fork: () => Em;
  connection: Connection;
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  store: BackupStore;
  packages: PackageStore;
  version: string;
  secretKey: string;
  passphrase: string | null;
  schedule: Schedule & { keep: number; keepDays: number };
};

/**
 * Makes the backup of the current interval if it is missing, and removes expired ones. All instances run it often: the database decides
 * what is due, and a lock admits one instance.
 * @param signal ends the backup. With a `TimeoutError`, the backup has failed; otherwise another instance makes it, or this one after its
 * next start
 */
export const runScheduledBackup = async (deps: ScheduledBackupDeps, signal: AbortSignal): Promise<void> => {
  if (signal.aborted || !(await isBackupDue(deps))) return;
  await using lock = await tryAdvisoryLock(deps.connection, 'backup', BACKUP_LOCK);
  // Checked again, because another instance may have finished a backup meanwhile.
  if (!lock || !(await isBackupDue(deps))) return;
  await settleInterrupted(deps);
  // The interruption that was just recorded may require a pause.
  if (!(await isBackupDue(deps))) return;
  if (await makeBackup(deps, signal)) await removeExpired(deps);
};

const placeOf = ({ store }: ScheduledBackupDeps): string => store.locate('');

const isBackupDue = async (deps: ScheduledBackupDeps): Promise<boolean> => {
  const history = await readBackupHistory(deps.fork(), placeOf(deps));
  return isDue(deps.clock.now(), history, deps.schedule);
};

/** If the process was killed after the archive was complete, the backup is good; otherwise its draft is removed. */
const settleInterrupted = async (deps: ScheduledBackupDeps): Promise<void> => {
  const { fork, store, clock, logger } = deps;
  for (const { id, name, startedAt } of await findInterrupted(fork(), placeOf(deps))) {
    const sizeBytes = await store.sizeOf(name);
    if (sizeBytes !== null) {
      await updateBackup(fork(), id, (backup) => backup.succeed(clock.now(), { sizeBytes, rows: null }));
      continue;
    }
    await store.remove(name);
    // The failure gets the time of the start, so that a backup that ends the service is retried with the same pauses as others.
    await updateBackup(fork(), id, (backup) =>
      backup.fail(startedAt, 'The service ended during the backup.'),
    );
    logger.warn({ backup: store.locate(name) }, 'a backup was interrupted');
  }
};

/** @returns whether it succeeded */
const makeBackup = async (deps: ScheduledBackupDeps, signal: AbortSignal): Promise<boolean> => {
  const { fork, connection, store, packages, version, secretKey, passphrase, clock, logger } = deps;
  const now = clock.now();
  const name = newBackupName(now);
  const id = await recordStart(fork(), { target: placeOf(deps), name, startedAt: now });
  const backup = store.locate(name);
  try {
    const options = { connection, packages, version, now, secretKey, passphrase, signal };
    const { sizeBytes, rows } = await writeBackup(store, name, options);
    await updateBackup(fork(), id, (row) => row.succeed(clock.now(), { sizeBytes, rows }));
    logger.info({ backup, rows, sizeBytes }, 'backup written');
    return true;
  } catch (error) {
    if (signal.aborted && signal.reason?.name !== 'TimeoutError') {
      await forgetBackup(fork(), id);
      return false;
    }
    logger.error({ err: error, backup }, 'backup failed');
    await updateBackup(fork(), id, (row) => row.fail(clock.now(), reasonOf(error)));
    return false;
  }
};

/** Removes only archives that this installation has recorded, and none unless the newest one is still there. */
const removeExpired = async (deps: ScheduledBackupDeps): Promise<void> => {
  const { fork, store, clock, logger, schedule } = deps;
  const now = clock.now();
  await pruneBackups(fork(), now);
  const archives = await listArchives(fork(), placeOf(deps));
  const expired = expiredArchives(archives, schedule, now);
  const [newest] = archives;
  if (!newest || expired.length === 0) return;
  if ((await store.sizeOf(newest.name)) !== newest.sizeBytes) {
    logger.error(
      { backup: store.locate(newest.name) },
      'the newest backup is missing or has changed: none is removed',
    );
    return;
  }
  for (const { id, name } of expired) {
    try {
      await store.remove(name);
      await updateBackup(fork(), id, (backup) => {
        backup.removedAt = now;
      });
    } catch (error) {
      logger.warn({ err: error, backup: store.locate(name) }, 'an expired backup cannot be removed');
    }
  }
};

type Schedule = {
  intervalHours: number;
  /** Minutes after midnight UTC at which an interval begins. */
  startMinute: number;
};

/** The first pause after a failure, which doubles with each further one. */
const RETRY_MS = 5 * MINUTE_MS;
const MAX_RETRY_MS = HOUR_MS;

/** The start of the current interval. Intervals are counted from 1970, so that all instances and restarts agree. */
export const intervalStart = (now: Date, { intervalHours, startMinute }: Schedule): Date => {
  const offset = startMinute * MINUTE_MS;
  const length = intervalHours * HOUR_MS;
  return new Date(Math.floor((now.getTime() - offset) / length) * length + offset);
};

/** Whether the current interval has no good backup yet, and the pause after a failure has ended. */
export const isDue = (
  now: Date,
  { lastGoodAt, failures, lastFailureAt }: BackupHistory,
  schedule: Schedule,
): boolean => {
  if (lastGoodAt && lastGoodAt >= intervalStart(now, schedule)) return false;
  if (!lastFailureAt) return true;
  const pause = Math.min(RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
  return now.getTime() >= lastFailureAt.getTime() + pause;
};

/**
 * The archives that the retention removes: beyond the newest `keep`, and older than `keepDays`. The newest always stays.
 * @param archives newest first
 */
export const expiredArchives = <T extends { startedAt: Date }>(
  archives: readonly T[],
  { keep, keepDays }: { keep: number; keepDays: number },
  now: Date,
): T[] => {
  const oldest = now.getTime() - keepDays * DAY_MS;
  return archives.filter(
    ({ startedAt }, index) => index >= Math.max(keep, 1) && startedAt.getTime() < oldest,
  );
};
