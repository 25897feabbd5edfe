import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { DAY_MS } from '../../core/clock.ts';
import type { FieldErrors } from '../../core/problems.ts';
import type { Actor } from '../actor.ts';
import { isSeenUser } from '../people/user-rows.ts';
import { tables } from '../tables.ts';
import type { KeptExtra } from './usage-extra.ts';
import { lockUsage, type UsageEntryInput } from './usage-log.ts';
import { ensureMonths } from './usage-partitions.ts';

/** An entry as a platform sends it; null is what it has left out. */
export type UsageReport = {
  id: string | null;
  email: string;
  full_name: string | null;
  timestamp: Date | null;
  action: string;
  action_description: string;
  extra: KeptExtra;
};
/** An element as it was sent: its value, or null and what was wrong with its form. */
export type UsageElement = { value: UsageReport | null; faults: FieldErrors };

/** How far back an entry without a time is known by its id alone: two months of the log are looked into. */
const REPEATED_DAYS = 30;

type Where = { actor: Actor; appId: string; now: Date };

/** Entries as the log keeps them, of reports that leave out what goes without saying. */
export const completed = async (
  tx: SqlEntityManager,
  { actor, appId, now }: Where,
  reports: readonly UsageReport[],
): Promise<UsageEntryInput[]> => {
  const names = await namesOf(tx, actor, reports);
  const times = await timesOf(tx, appId, reports, now);
  return reports.map((report) => entryOf(report, names, times, now));
};

/** The names that people have now, for reports that leave them out: of those whom the actor sees. */
const namesOf = async (
  tx: SqlEntityManager,
  actor: Actor,
  reports: readonly UsageReport[],
): Promise<Map<string, string>> => {
  const nameless = new Set(reports.filter((report) => report.full_name === null).map(({ email }) => email));
  if (nameless.size === 0) return new Map();
  const people = await tables(tx)
    .selectFrom('users')
    .select(['email', 'first_name', 'last_name'])
    .where(sql<boolean>`email = any(${[...nameless]}::varchar[])`)
    .where(isSeenUser(actor))
    .execute();
  return new Map(people.map((person) => [person.email, `${person.first_name} ${person.last_name}`.trim()]));
};

/**
 * The times that reports with an id but without a time had when they came before, or have beside it, by id. Entries
 * are known by both; so that a repeat is one, it has to take the time of the first.
 */
const timesOf = async (
  tx: SqlEntityManager,
  appId: string,
  reports: readonly UsageReport[],
  now: Date,
): Promise<Map<string, Date>> => {
  const timeless = reports.flatMap(({ id, timestamp }) => (id !== null && !timestamp ? [id] : []));
  if (timeless.length === 0) return new Map();
  // Months come before the lock of an app, everywhere: whoever took them the other way round could deadlock.
  await ensureMonths(
    tx,
    reports.map(({ timestamp }) => timestamp ?? now),
  );
  await lockUsage(tx, appId);
  const known = await tables(tx)
    .selectFrom('usage_entries')
    .select(['entry_key', 'occurred_at'])
    .where('app_id', '=', appId)
    .where(sql<boolean>`entry_key = any(${timeless}::varchar[])`)
    .where('occurred_at', '>', new Date(now.getTime() - REPEATED_DAYS * DAY_MS))
    .execute();
  const times = new Map<string, Date>();
  for (const { id, timestamp } of reports) if (id !== null && timestamp) times.set(id, timestamp);
  for (const entry of known) if (entry.entry_key !== null) times.set(entry.entry_key, entry.occurred_at);
  return times;
};

const entryOf = (
  report: UsageReport,
  names: Map<string, string>,
  times: Map<string, Date>,
  now: Date,
): UsageEntryInput => ({
  entryKey: report.id,
  email: report.email,
  fullName: report.full_name ?? names.get(report.email) ?? '',
  action: report.action,
  actionDescription: report.action_description,
  stack: report.extra.stack,
  extra: report.extra.text,
  occurredAt: report.timestamp ?? times.get(report.id ?? '') ?? now,
});
