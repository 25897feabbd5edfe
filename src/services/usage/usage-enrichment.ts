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
export type SubmittedEntry = Omit<UsageEntryInput, 'fullName' | 'occurredAt' | 'digest'> & {
  fullName: string | null;
  occurredAt: Date | null;
};

type Where = { actor: Actor; appId: string; now: Date; addressDigest: AddressDigest };

/** Fills in the names and times that entries leave out, and the digests of their addresses. */
export const enrichEntries = async (tx: Db, where: Where, submitted: readonly SubmittedEntry[]) => {
  const { actor, appId, now, addressDigest } = where;
  const names = await namesOf(tx, actor, submitted);
  const times = await timesByKey(tx, appId, submitted, now);
  const emails = new Set(submitted.map(({ email }) => email));
  const digests = new Map([...emails].map((email) => [email, addressDigest(email)]));
  return submitted.map(({ fullName, occurredAt, ...entry }) => ({
    ...entry,
    fullName: fullName ?? names.get(entry.email) ?? '',
    digest: digests.get(entry.email) ?? null,
    occurredAt: occurredAt ?? times.get(entry.entryKey ?? '') ?? now,
  }));
};

/** The current names of users that the actor may see, for entries without a name. */
const namesOf = async (tx: Db, actor: Actor, submitted: readonly SubmittedEntry[]) => {
  const nameless = new Set(submitted.filter(({ fullName }) => fullName === null).map(({ email }) => email));
  if (nameless.size === 0) return new Map();
  const users = await tables(tx)
    .selectFrom('users')
    .select(['email', sql<string>`trim(first_name || ' ' || last_name)`.as('name')])
    .where(sql<boolean>`email = any(${[...nameless]}::varchar[])`)
    .where(userVisibleTo(actor))
    .execute();
  return new Map(users.map(({ email, name }) => [email, name]));
};

const isUntimedKey = ({ entryKey, occurredAt }: SubmittedEntry) => entryKey !== null && occurredAt === null;

/**
 * Times by id, for entries with an id but without a time: the time of an entry in the log, or of another submitted one, with this id.
 * Duplicates are recognized by id and time, so a repeat needs the time of the first.
 */
const timesByKey = async (tx: Db, appId: string, submitted: readonly SubmittedEntry[], now: Date) => {
  const times = new Map<string, Date>();
  const untimedKeys = submitted.filter(isUntimedKey).map(({ entryKey }) => entryKey);
  if (untimedKeys.length === 0) return times;
  // All writers create months before they lock an app; another order could deadlock.
  await ensureMonths(
    tx,
    submitted.map(({ occurredAt }) => occurredAt ?? now),
  );
  await lockUsage(appId).execute(tables(tx));
  const known = await tables(tx)
    .selectFrom('usage_entries')
    .select(['entry_key as entryKey', 'occurred_at as occurredAt'])
    .where('app_id', '=', appId)
    .where(sql<boolean>`entry_key = any(${untimedKeys}::varchar[])`)
    .where('occurred_at', '>', new Date(now.getTime() - DUPLICATE_LOOKBACK_DAYS * DAY_MS))
    .execute();
  for (const { entryKey, occurredAt } of [...submitted, ...known])
    if (entryKey !== null && occurredAt !== null) times.set(entryKey, occurredAt);
  return times;
};
