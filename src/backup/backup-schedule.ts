import { HOUR_MS } from '../lib/clock.ts';
import type { BackupHistory } from '../services/backups/backup-history.ts';

export type Schedule = {
  intervalHours: number;
  /** Minutes after midnight UTC at which an interval begins. */
  startMinute: number;
};

const MINUTE_MS = 60_000;
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

type Archive = { started_at: Date };

/**
 * The archives that the retention removes: beyond the newest `keep`, and older than `keepDays`. The newest always stays. An
 * archive is at least as old as the next newer one, even if the clock was ahead when it was made.
 * @param archives newest first
 */
export const expiredArchives = <T extends Archive>(
  archives: readonly T[],
  { keep, keepDays }: { keep: number; keepDays: number },
  now: Date,
): T[] => {
  const oldest = now.getTime() - keepDays * 24 * HOUR_MS;
  let latest = now.getTime();
  return archives.filter(({ started_at }, index) => {
    latest = Math.min(latest, started_at.getTime());
    return index >= Math.max(keep, 1) && latest < oldest;
  });
};
