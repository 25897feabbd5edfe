import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { ensureMonths } from './usage-partitions.ts';
import { insertWithRollups } from './usage-rollups.ts';
import { refreshWindow } from './usage-windows.ts';

/** An entry as the log stores it. */
export type UsageEntryInput = {
  /** The platform's own id. */
  entryKey: string | null;
  email: string;
  fullName: string;
  action: string;
  actionDescription: string;
  stack: string | null;
  /** JSON. */
  extra: string;
  occurredAt: Date;
  /** See `AddressDigest`. */
  digest?: string | null;
};

/** Held while entries of an app are written, because the rollups of one day depend on those of others. */
export const lockUsage = (appId: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`usage of ${appId}`}, 0))`;

/** Adds entries to the log of an app and to its rollups. Returns how many are new: entries with the same key and time exist. */
export const writeUsage = (em: Db, appId: string, entries: readonly UsageEntryInput[], now: Date) =>
  em.transactional(async (tx) => {
    if (entries.length === 0) return 0;
    await ensureMonths(tx, timesOf(entries));
    await lockUsage(appId).execute(tables(tx));
    const { rows } = await insertWithRollups(appId, insertEntries(appId, entries)).execute(tables(tx));
    for (const statement of refreshWindow(appId, now)) await statement.execute(tables(tx));
    return rows[0]?.entries ?? 0;
  });

const timesOf = (entries: readonly UsageEntryInput[]): Date[] => entries.map(({ occurredAt }) => occurredAt);

/** Takes a tenth of the time of a write, so entries without keys do without. */
const SKIP_DUPLICATES = sql`on conflict (app_id, entry_key, occurred_at) where entry_key is not null do nothing`;

/**
 * Binds one array per column, so that the statement is the same for any number of entries. What an erased person did before,
 * and without a new account also later, is recorded under the pseudonym.
 */
const insertEntries = (appId: string, entries: readonly UsageEntryInput[]) => sql`
  insert into usage_entries
    (app_id, entry_key, email, full_name, action, action_description, stack, extra, occurred_at)
  select ${appId}, entry_key, coalesce(pseudonym, email), case when pseudonym is null then full_name else '' end,
    action, action_description, stack, case when pseudonym is null then extra else '{}' end, occurred_at
  from (
    select *, case when (select exists (select from erasures)) then pseudonym_of(email, digest, occurred_at) end as pseudonym
    from unnest(
      ${entries.map(({ entryKey }) => entryKey)}::varchar[], ${entries.map(({ email }) => email)}::varchar[],
      ${entries.map(({ fullName }) => fullName)}::varchar[], ${entries.map(({ action }) => action)}::varchar[],
      ${entries.map(({ actionDescription }) => actionDescription)}::text[],
      ${entries.map(({ stack }) => stack)}::varchar[], ${entries.map(({ extra }) => extra)}::json[],
      ${entries.map(({ occurredAt }) => occurredAt.toISOString())}::timestamptz[],
      ${entries.map(({ digest }) => digest ?? null)}::varchar[])
      as given (entry_key, email, full_name, action, action_description, stack, extra, occurred_at, digest)
    offset 0) as given
  ${entries.some(({ entryKey }) => entryKey !== null) ? SKIP_DUPLICATES : sql``}
  returning email, (occurred_at at time zone 'UTC')::date as day, stack`;
