import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS, latestPossible } from '../../lib/clock.ts';

export type BackupHistory = {
  /** When the last good backup began. */
  lastGoodAt: Date | null;
  /** Attempts since then that failed. */
  failures: number;
  lastFailureAt: Date | null;
};

/** Of failed attempts, and of archives that were removed. */
const KEPT_ROWS_MS = 90 * DAY_MS;
const MAX_ERROR_LENGTH = 500;

const INTERRUPTED = 'The service ended during the backup.';

/**
 * Reads what decides when the next backup to a target is due. Backups are ordered by id, because the clock may have been
 * wrong; those with a time in the future do not count.
 */
export const readBackupHistory = async (em: Em, target: string, now: Date): Promise<BackupHistory> => {
  const latest = latestPossible(now);
  const { rows } = await sql<BackupHistory>`
    with good as (
      select id, started_at from backups
      where target = ${target} and finished_at is not null and started_at <= ${latest}::timestamptz
      order by id desc limit 1
    )
    select (select started_at from good) as "lastGoodAt", count(*)::int as failures, max(failed_at) as "lastFailureAt"
    from backups
    where target = ${target} and failed_at <= ${latest}::timestamptz and id > coalesce((select id from good), 0)`.execute(
    kysely(em),
  );
  return rows[0] ?? { lastGoodAt: null, failures: 0, lastFailureAt: null };
};

type Begun = { target: string; name: string; now: Date };

/** Records a backup that begins. @returns its id */
export const recordStart = async (em: Em, { target, name, now }: Begun): Promise<number> => {
  const row = await kysely(em)
    .insertInto('backups')
    .values({ target, name, started_at: now })
    .returning('id')
    .executeTakeFirstOrThrow();
  return Number(row.id);
};

type Success = { sizeBytes: number; rows: number | null; now: Date };

export const recordSuccess = async (em: Em, id: number, { sizeBytes, rows, now }: Success) => {
  await kysely(em)
    .updateTable('backups')
    .set({ finished_at: now, size_bytes: sizeBytes, row_count: rows })
    .where('id', '=', id)
    .execute();
};

export const recordFailure = async (em: Em, id: number, reason: string, now: Date) => {
  const error = reason.slice(0, MAX_ERROR_LENGTH).toWellFormed();
  await kysely(em).updateTable('backups').set({ failed_at: now, error }).where('id', '=', id).execute();
};

/** Forgets a backup that was stopped together with the service. */
export const forgetBackup = async (em: Em, id: number): Promise<void> => {
  await kysely(em).deleteFrom('backups').where('id', '=', id).execute();
};

/** Backups that neither finished nor failed. With the lock of backups, none of them is running. */
export const findInterrupted = (em: Em, target: string) =>
  kysely(em)
    .selectFrom('backups')
    .select(['id', 'name', 'started_at'])
    .where('target', '=', target)
    .where('finished_at', 'is', null)
    .where('failed_at', 'is', null)
    .execute();

/** Counts as a failure at its start, so that a backup that ends the service is retried with the same pauses as others. */
export const recordInterruption = (em: Em, id: number, startedAt: Date): Promise<void> =>
  recordFailure(em, id, INTERRUPTED, startedAt);

/** The archives of a target that were not removed, newest first. */
export const listArchives = (em: Em, target: string) =>
  kysely(em)
    .selectFrom('backups')
    .select(['id', 'name', 'started_at', 'size_bytes'])
    .where('target', '=', target)
    .where('finished_at', 'is not', null)
    .where('removed_at', 'is', null)
    .orderBy('id', 'desc')
    .execute();

export const recordRemoval = async (em: Em, id: number, now: Date): Promise<void> => {
  await kysely(em).updateTable('backups').set({ removed_at: now }).where('id', '=', id).execute();
};

/** Deletes the rows of old failures and removed archives. */
export const pruneBackups = async (em: Em, now: Date): Promise<void> => {
  const before = new Date(now.getTime() - KEPT_ROWS_MS);
  await kysely(em)
    .deleteFrom('backups')
    .where((row) => row.or([row('removed_at', '<', before), row('failed_at', '<', before)]))
    .execute();
};
