import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import type { Actor } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import type { UsageColumns, UsageReports } from './usage-columns.ts';
import { lockUsage } from './usage-log.ts';
import { ensureMonths } from './usage-partitions.ts';

/** How far back an entry without a time is found by its id: this searches two months of the log. */
const DUPLICATE_LOOKBACK_DAYS = 30;

type Where = { actor: Actor; appId: string; now: Date };

/** Fills in the names and times that reports leave out. */
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

/** The current names of users that the actor may see, for reports without a name. */
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

/** Whether `enrichReports` takes the lock of the app. */
export const hasUntimedKeys = (reports: Pick<UsageReports, 'keys' | 'times'>): boolean =>
  untimedKeys(reports).length > 0;

/**
 * Times by id, for reports with an id but without a time: the time of an entry in the log or of another report with this id.
 * Duplicates are recognized by id and time, so a repeat needs the time of the first.
 */
const timesOf = async (
  tx: SqlEntityManager,
  appId: string,
  { keys, times: given }: Pick<UsageReports, 'keys' | 'times'>,
  now: Date,
): Promise<Map<string, number>> => {
  const timeless = untimedKeys({ keys, times: given });
  if (timeless.length === 0) return new Map();
  // All writers create months before they lock an app; another order could deadlock.
  await ensureMonths(
    tx,
    given.map((time) => (Number.isNaN(time) ? now : time)),
  );
  await lockUsage(appId).execute(tables(tx));
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
