import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { type Clock, DAY_MS, MINUTE_MS } from '../../core/clock.ts';
import { type FieldErrors, invalid } from '../../core/problems.ts';
import type { Actor } from '../actor.ts';
import { overseenApp } from '../apps/app-rows.ts';
import type { Idempotency } from '../idempotency.ts';
import { isSeenUser } from '../people/user-rows.ts';
import { tables } from '../tables.ts';
import type { KeptExtra } from './usage-extra.ts';
import { lockUsage, type UsageEntryInput, writeUsage } from './usage-log.ts';
import { ensureMonths } from './usage-partitions.ts';
import type { UsageWriters } from './usage-writers.ts';

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

/** `repeated` were in the log already. */
export type Recorded = { recorded: number; repeated: number };

/** Clocks of platforms go a little ahead of ours. */
const MAX_AHEAD_MS = 5 * MINUTE_MS;
/** More than anybody reads, and few enough to answer. */
const MAX_FAULTS = 1_000;
/** How far back an entry without a time is known by its id alone: two months of the log are looked into. */
const REPEATED_DAYS = 30;

type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  idempotency: Idempotency;
  usageWriters: UsageWriters;
  usageRetentionDays: number;
};

export const createUsageRecording = ({
  em,
  clock,
  idempotency,
  usageWriters: writers,
  usageRetentionDays,
}: Deps) => ({
  /**
   * Writes what happened in an app: all of it, or nothing when one element is at fault. Elements with an `id` are
   * written once, however often they come; so is everything under one idempotency key.
   * @throws Problem `not-found`, `not-allowed`, `invalid-input` by `entries.{index}.{field}`, `idempotency-key-reused`,
   * `overloaded`
   */
  record: async (
    actor: Actor,
    appId: string,
    elements: readonly UsageElement[],
    key: string | null,
  ): Promise<Recorded> => {
    await overseenApp(em, actor, appId);
    const input = elements.map(({ value }) => value);
    if (input.includes(null)) throw invalid(faultsOf(elements, clock.now(), usageRetentionDays));

    const request = { key, operation: `usage.record ${appId}`, input };
    const write = async (tx: SqlEntityManager): Promise<Recorded> => {
      const now = clock.now();
      // Not before: a repeat gets the first answer, however old its entries have become.
      const faults = faultsOf(elements, now, usageRetentionDays);
      if (Object.keys(faults).length > 0) throw invalid(faults);
      const reports = input.filter((report) => report !== null);
      const names = await namesOf(tx, actor, reports);
      const times = await timesOf(tx, appId, reports, now);
      const entries = reports.map((report) => entryOf(report, names, times, now));
      const recorded = await writeUsage(tx, appId, entries, now);
      return { recorded, repeated: reports.length - recorded };
    };
    return writers.within(appId, elements.length, () => idempotency.once(actor, request, write));
  },
});

/** All faults of all elements at once. */
const faultsOf = (elements: readonly UsageElement[], now: Date, retentionDays: number): FieldErrors => {
  const fields: FieldErrors = {};
  let count = 0;
  for (const [index, { value, faults }] of elements.entries()) {
    const all = value ? timeFaults(value, now, retentionDays) : faults;
    for (const [field, messages] of Object.entries(all)) {
      fields[`entries.${index}.${field}`] = messages;
      count += 1;
    }
    if (count >= MAX_FAULTS) break;
  }
  return fields;
};

const timeFaults = ({ timestamp }: UsageReport, now: Date, retentionDays: number): FieldErrors => {
  if (!timestamp) return {};
  const ageMs = now.getTime() - timestamp.getTime();
  if (ageMs < -MAX_AHEAD_MS) return { timestamp: ['Must not be more than 5 minutes ahead.'] };
  const isKept = ageMs <= retentionDays * DAY_MS;
  return isKept ? {} : { timestamp: [`Must not be older than the ${retentionDays} days that are kept.`] };
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
