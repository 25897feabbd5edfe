import { sql } from 'kysely';
import { Backup } from '../../entities/backup.ts';
import { condition, countIn, type Em, kysely } from '../db/kysely.ts';
import { findLastGood } from './backups/backup-history.ts';
import { isWaiting } from './events/enqueue-deliveries.ts';
import { readSinkLags } from './sinks/sink-queue.ts';
import { logMonths, monthOf } from './usage/usage-months.ts';

/** The last good backup, and the number of failures since; null before the first backup. */
const readBackups = async (em: Em, now: Date) => {
  const last = await findLastGood(em);
  return {
    backupAgeSeconds: last && secondsSince(last.startedAt, now),
    backupDurationSeconds: last?.finishedAt ? secondsSince(last.startedAt, last.finishedAt) : null,
    backupSizeBytes: last?.sizeBytes ?? null,
    backupFailures: await em.count(Backup, { failedAt: { $ne: null }, id: { $gt: last?.id ?? 0 } }),
  };
};

export type OperationalState = Awaited<ReturnType<typeof readOperationalState>>;

/** Reads the state that operators monitor in addition to requests. Partial indexes keep this fast with any number of mails. */
export const readOperationalState = async (em: Em, now: Date) => {
  const isUnsent = condition`sent_at is null and failed_at is null`;
  const isQueued = isWaiting('webhook_deliveries');
  const { unsent, oldest, deliveries, oldestDelivery, logouts, erasures } = await kysely(em)
    .selectNoFrom([
      countIn('outbox_mails', isUnsent).as('unsent'),
      sql<Date | null>`(select min(created_at) from outbox_mails where ${isUnsent})`.as('oldest'),
      countIn('webhook_deliveries', isQueued).as('deliveries'),
      sql<Date | null>`(select min(queued_at) from webhook_deliveries where ${isQueued})`.as(
        'oldestDelivery',
      ),
      countIn('openid_logins', condition`next_attempt_at is not null`).as('logouts'),
      countIn('erasures', condition`finished_at is null`).as('erasures'),
    ])
    .executeTakeFirstOrThrow();
  const nextMonth = monthOf(now, 1);
  const months = await logMonths(em);
  return {
    unsentMails: unsent,
    waitingDeliveries: deliveries,
    oldestWaitingDeliverySeconds: oldestDelivery ? secondsSince(oldestDelivery, now) : 0,
    waitingOpenidLogouts: logouts,
    unfinishedErasures: erasures,
    oldestUnsentMailSeconds: oldest ? secondsSince(oldest, now) : 0,
    ...(await readBackups(em, now)),
    usageMonthsAhead: months.filter((month) => month >= nextMonth).length,
    sinks: await readSinkLags(em, now),
  };
};

/** Never negative: the clocks of instances differ by milliseconds. */
const secondsSince = (at: Date, now: Date): number => Math.max(0, now.getTime() - at.getTime()) / 1000;
