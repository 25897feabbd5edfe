import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import type { Actor } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import type { UsageColumns } from './usage-columns.ts';
import { lockUsage } from './usage-log.ts';
import { ensureMonths } from './usage-partitions.ts';
import type { UsageReports } from './usage-reports.ts';

/** How far back an entry without a time is known by its id alone: two months of the log are looked into. */
const DUPLICATE_LOOKBACK_DAYS = 30;

type Where = { actor: Actor; appId: string; now: Date };

/** Entries as the log keeps them, of reports that leave out what goes without saying. */
export const enrichReports = async (
  tx: SqlEntityManager,
  { actor, appId, now }: Where,
  { faults: _, ...reports }: UsageReports,
): Promise<UsageColumns> => {
  const { emails, keys } = reports;
  const names = await namesOf(tx, actor, reports);
  const times = await timesOf(tx, appId, reports, now);
  return {
    ...reports,
    fullNames: reports.fullNames.map((name, index) => name ?? names.get(emails[index] ?? '') ?? ''),
    times: reports.times.map((time, index) =>
      Number.isNaN(time) ? (times.get(keys[index] ?? '') ?? now.getTime()) : time,
    ),
  };
};

/** The names that people have now, for reports that leave them out: of those whom the actor sees. */
const namesOf = async (
  tx: SqlEntityManager,
  actor: Actor,
  { emails, fullNames }: Pick<UsageReports, 'emails' | 'fullNames'>,
): Promise<Map<string, string>> => {
  const nameless = new Set(emails.filter((_email, index) => fullNames[index] === null));
  if (nameless.size === 0) return new Map();
  const people = await tables(tx)
    .selectFrom('users')
    .select(['email', 'first_name', 'last_name'])
    .where(sql<boolean>`email = any(${[...nameless]}::varchar[])`)
    .where(userVisibleTo(actor))
    .execute();
  return new Map(people.map((person) => [person.email, `${person.first_name} ${person.last_name}`.trim()]));
};

const untimedKeys = ({ keys, times }: Pick<UsageReports, 'keys' | 'times'>) =>
  keys.filter((key, index) => key !== null && Number.isNaN(times[index]));

/** Whether completing these reports takes the lock of the app. */
export const hasUntimedKeys = (reports: Pick<UsageReports, 'keys' | 'times'>): boolean =>
  untimedKeys(reports).length > 0;

/**
 * The times that reports with an id but without a time had when they came before, or have beside it, by id. Entries
 * are known by both; so that a repeat is one, it has to take the time of the first.
 */
const timesOf = async (
  tx: SqlEntityManager,
  appId: string,
  { keys, times: given }: Pick<UsageReports, 'keys' | 'times'>,
  now: Date,
): Promise<Map<string, number>> => {
  const timeless = untimedKeys({ keys, times: given });
  if (timeless.length === 0) return new Map();
  // Months come before the lock of an app, everywhere: whoever took them the other way round could deadlock.
  await ensureMonths(
    tx,
    given.map((time) => (Number.isNaN(time) ? now : time)),
  );
  await lockUsage(tx, appId);
  const known = await tables(tx)
    .selectFrom('usage_entries')
    .select(['entry_key', 'occurred_at'])
    .where('app_id', '=', appId)
    .where(sql<boolean>`entry_key = any(${timeless}::varchar[])`)
    .where('occurred_at', '>', new Date(now.getTime() - DUPLICATE_LOOKBACK_DAYS * DAY_MS))
    .execute();
  const times = new Map<string, number>();
  for (const [index, key] of keys.entries()) {
    const time = given[index] ?? Number.NaN;
    if (key !== null && !Number.isNaN(time)) times.set(key, time);
  }
  for (const entry of known)
    if (entry.entry_key !== null) times.set(entry.entry_key, entry.occurred_at.getTime());
  return times;
};
