import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import type { Actor } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import type { AddressDigest } from '../data-rights/erasure-keys.ts';
import { ensureMonths } from './usage-partitions.ts';
import { lockUsage, type UsageEntryInput } from './usage-writes.ts';

/** How far back an entry without a time is found by its id: this searches two months of the log. */
const DUPLICATE_LOOKBACK_DAYS = 30;

/** An entry as a platform sends it; null for what it left out. */
export type UsageReport = Omit<UsageEntryInput, 'fullName' | 'occurredAt' | 'digest'> & {
  fullName: string | null;
  occurredAt: Date | null;
};

type Where = { actor: Actor; appId: string; now: Date; addressDigest: AddressDigest };

/** Fills in the names and times that reports leave out, and the digests of their addresses. */
export const enrichReports = async (tx: Db, where: Where, reports: readonly UsageReport[]) => {
  const { actor, appId, now, addressDigest } = where;
  const names = await namesOf(tx, actor, reports);
  const times = await timesByKey(tx, appId, reports, now);
  const emails = new Set(reports.map(({ email }) => email));
  const digests = new Map([...emails].map((email) => [email, addressDigest(email)]));
  return reports.map(({ fullName, occurredAt, ...report }) => ({
    ...report,
    fullName: fullName ?? names.get(report.email) ?? '',
    digest: digests.get(report.email) ?? null,
    occurredAt: occurredAt ?? times.get(report.entryKey ?? '') ?? now,
  }));
};

/** The current names of users that the actor may see, for reports without a name. */
const namesOf = async (tx: Db, actor: Actor, reports: readonly UsageReport[]) => {
  const nameless = new Set(reports.filter(({ fullName }) => fullName === null).map(({ email }) => email));
  if (nameless.size === 0) return new Map();
  const users = await tables(tx)
    .selectFrom('users')
    .select(['email', sql<string>`trim(first_name || ' ' || last_name)`.as('name')])
    .where(sql<boolean>`email = any(${[...nameless]}::varchar[])`)
    .where(userVisibleTo(actor))
    .execute();
  return new Map(users.map(({ email, name }) => [email, name]));
};

const isUntimedKey = ({ entryKey, occurredAt }: UsageReport) => entryKey !== null && occurredAt === null;

/** Whether `enrichReports` takes the lock of the app. */
export const hasUntimedKeys = (reports: readonly UsageReport[]): boolean => reports.some(isUntimedKey);

/**
 * Times by id, for reports with an id but without a time: the time of an entry in the log or of another report with this id.
 * Duplicates are recognized by id and time, so a repeat needs the time of the first.
 */
const timesByKey = async (tx: Db, appId: string, reports: readonly UsageReport[], now: Date) => {
  const times = new Map<string, Date>();
  const untimedKeys = reports.filter(isUntimedKey).map(({ entryKey }) => entryKey);
  if (untimedKeys.length === 0) return times;
  // All writers create months before they lock an app; another order could deadlock.
  await ensureMonths(
    tx,
    reports.map(({ occurredAt }) => occurredAt ?? now),
  );
  await lockUsage(appId).execute(tables(tx));
  const known = await tables(tx)
    .selectFrom('usage_entries')
    .select(['entry_key as entryKey', 'occurred_at as occurredAt'])
    .where('app_id', '=', appId)
    .where(sql<boolean>`entry_key = any(${untimedKeys}::varchar[])`)
    .where('occurred_at', '>', new Date(now.getTime() - DUPLICATE_LOOKBACK_DAYS * DAY_MS))
    .execute();
  for (const { entryKey, occurredAt } of [...reports, ...known])
    if (entryKey !== null && occurredAt !== null) times.set(entryKey, occurredAt);
  return times;
};
