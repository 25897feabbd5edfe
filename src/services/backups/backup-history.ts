import { Backup } from '../../../entities/backup.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';

/** For failed attempts and removed archives. */
const KEPT_ROWS_MS = 90 * DAY_MS;

/** The last good backup, to a target or to any. Ordered by id, because the clock may have been wrong. */
export const findLastGood = (em: Em, target?: string) => {
  const isOfTarget = target === undefined ? {} : { target };
  return em.findOne(Backup, { finishedAt: { $ne: null }, ...isOfTarget }, { orderBy: { id: 'desc' } });
};

export type BackupHistory = Awaited<ReturnType<typeof readBackupHistory>>;

/** Reads what determines when the next backup to a target is due: the start of the last good one, and the failed attempts since then. */
export const readBackupHistory = async (em: Em, target: string) => {
  const last = await findLastGood(em, target);
  const failed = await kysely(em)
    .selectFrom('backups')
    .select(({ fn }) => [fn.countAll<number>().as('failures'), fn.max('failed_at').as('lastFailureAt')])
    .where('target', '=', target)
    .where('id', '>', last?.id ?? 0)
    .executeTakeFirstOrThrow();
  return { lastGoodAt: last?.startedAt ?? null, ...failed };
};

/** Records a backup that begins. @returns its id */
export const recordStart = async (em: Em, started: { target: string; name: string; startedAt: Date }) => {
  const backup = em.create(Backup, started);
  await em.flush();
  return backup.id;
};

/** Records the outcome of a backup. */
export const updateBackup = async (em: Em, id: number, change: (backup: Backup) => void): Promise<void> => {
  change(await em.findOneOrFail(Backup, id));
  await em.flush();
};

/** Deletes the row of a backup that was stopped together with the service. */
export const forgetBackup = async (em: Em, id: number): Promise<void> => {
  await em.remove(await em.findOneOrFail(Backup, id)).flush();
};

/** Backups that neither finished nor failed. While the lock of backups is held, none of them is running. */
export const findInterrupted = (em: Em, target: string) =>
  em.find(Backup, { target, finishedAt: null, failedAt: null });

/** The archives of a target that were not removed, newest first. */
export const listArchives = (em: Em, target: string) =>
  em.find(Backup, { target, finishedAt: { $ne: null }, removedAt: null }, { orderBy: { id: 'desc' } });

/** Deletes the rows of old failures and removed archives. */
export const pruneBackups = (em: Em, now: Date) => {
  const $lt = new Date(now.getTime() - KEPT_ROWS_MS);
  return em.nativeDelete(Backup, { $or: [{ removedAt: { $lt } }, { failedAt: { $lt } }] });
};
