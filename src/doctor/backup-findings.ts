import { type Finding, findingsOf } from './finding.ts';

type BackupState = { backupAgeSeconds: number | null; backupFailures: number };

const SECONDS_PER_HOUR = 60 * 60;
/** In intervals, as in the alert of `deploy/prometheus/alerts.yml`. */
const OVERDUE = 1.5;
const ACTION = 'The log of the service and the table `backups` have the reason. Check BACKUP_TARGET.';

/** @param intervalHours null if no backups are scheduled */
export const judgeBackups = (
  { backupAgeSeconds: ageSeconds, backupFailures: failures }: BackupState,
  intervalHours: number | null,
): Finding => {
  const { ok, warning } = findingsOf('backups');
  if (intervalHours === null) return ok('No backups are scheduled: BACKUP_TARGET is not set.');
  if (failures > 0)
    return warning(`Scheduled backups that failed since the last good one: ${failures}.`, ACTION);
  if (ageSeconds === null)
    return warning('There is no scheduled backup yet.', 'Start the service: it makes the first one at once.');
  const message = `The last scheduled backup is ${Math.floor(ageSeconds / SECONDS_PER_HOUR)} h old.`;
  return ageSeconds > OVERDUE * intervalHours * SECONDS_PER_HOUR
    ? warning(message, `Start the service. ${ACTION}`)
    : ok(message);
};
