import { sql } from 'kysely';
import pLimit from 'p-limit';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { DAY_MS, MINUTE_MS } from '../../lib/clock.ts';
import { createKeyedLimit } from '../../lib/keyed-limit.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { type Actor, requireIn } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { fullName } from '../accounts/user-rows.ts';
import { requireViewableApp } from '../apps/app-rows.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { AddressDigest } from './erasure-keys.ts';
import { ensureMonths } from './usage-months.ts';
import { lockUsage, type UsageEntryInput, writeUsage } from './usage-writes.ts';

/** `duplicates` were already in the log. */
type RecordingResult = { inserted: number; duplicates: number };

/** Tolerates clocks of platforms that are ahead. */
const MAX_AHEAD_MS = 5 * MINUTE_MS;
/** Bounds the size of the response. */
const MAX_FAULTS = 1_000;

export const createUsageRecording = (deps: UnitOfWork) => ({
  /**
   * Writes all entries, or none if one is invalid. Entries with an id are written once; a request with an idempotency key is written once.
   * @throws Problem `not-found`, `forbidden`, `invalid-input` by `entries.{index}.timestamp`, `idempotency-key-reused`, `overloaded`
   */
  record: async (
    actor: Actor,
    appId: string,
    submitted: SubmittedEntry[],
    idempotencyKey: IdempotencyKey | null,
  ) => {
    const { em, clock, idempotency, usageWriteLimiter, usageRetentionDays } = deps;
    const { addressDigest } = deps.erasureKeys;
    const { client_id } = await requireViewableApp(em, actor, clock.now(), appId);
    if (!can(actor, 'operate')) requireIn(actor, 'manage-apps', client_id);

    const recordIn = async (tx: Em): Promise<RecordingResult> => {
      const now = clock.now();
      // Not earlier: a repeated request gets the first response, even if its entries are too old by now.
      requireValidTimes(submitted, now, usageRetentionDays);
      // All writers create months before they lock an app; another order could deadlock.
      await ensureMonths(
        tx,
        submitted.map(({ occurredAt }) => occurredAt ?? now),
      );
      await lockUsage(appId).execute(kysely(tx));
      const entries = await enrichEntries(tx, { actor, appId, now, addressDigest }, submitted);
      const inserted = await writeUsage(tx, appId, entries, now);
      const result = { inserted, duplicates: entries.length - inserted };
      telemetry.usage.publish(() => result);
      return result;
    };
    const operation = `usage.record ${appId}`;
    const request = { actor, idempotencyKey, operation, input: submitted };
    return usageWriteLimiter.within(appId, submitted.length, () =>
      idempotency.runOnce<RecordingResult>(request, (write) => write(recordIn)),
    );
  },
});

const requireValidTimes = (submitted: readonly SubmittedEntry[], now: Date, retentionDays: number): void => {
  const faults = submitted.flatMap(({ occurredAt }, index): [string, string[]][] => {
    const fault = occurredAt && timeFaultOf(now.getTime() - occurredAt.getTime(), retentionDays);
    return fault ? [[`entries.${index}.timestamp`, [fault]]] : [];
  });
  if (faults.length > 0) throw invalid(Object.fromEntries(faults.slice(0, MAX_FAULTS)));
};

const timeFaultOf = (ageMs: number, retentionDays: number): string | null => {
  if (ageMs < -MAX_AHEAD_MS) return 'Must not be more than 5 minutes ahead.';
  return ageMs > retentionDays * DAY_MS
    ? `Must not be older than the ${retentionDays} days that are kept.`
    : null;
};

/** The pool has ten connections; the others stay free for other requests. */
const MAX_CONCURRENT_WRITES = 4;
/** Limit of entries in memory that wait to be written; each takes some KB. */
const MAX_WAITING_ENTRIES = 100_000;

const TOO_MUCH = { detail: 'Too much usage is being written at the moment. Send it again shortly.' };

/**
 * Limits concurrent writes of usage: one per app, a few in total. Otherwise, writers of a busy app, or of an app whose rollups are being
 * rebuilt, would wait for its lock and occupy all connections.
 */
export const createUsageWriteLimiter = () => {
  const all = pLimit(MAX_CONCURRENT_WRITES);
  const oneByApp = createKeyedLimit(1);
  let waiting = 0;

  return {
    /** @throws Problem `overloaded` when too many entries are waiting */
    within: async <T>(appId: string, entries: number, work: () => Promise<T>): Promise<T> => {
      if (waiting > 0 && waiting + entries > MAX_WAITING_ENTRIES) throw new Problem('overloaded', TOO_MUCH);
      waiting += entries;
      try {
        return await oneByApp(appId, () => all(work));
      } finally {
        waiting -= entries;
      }
    },
  };
};

/** How far back an entry without a time is searched by its id: this reads two months of the log. */
const DUPLICATE_LOOKBACK_DAYS = 30;

/** An entry as a platform sends it; null for omitted fields. */
export type SubmittedEntry = Omit<UsageEntryInput, 'fullName' | 'occurredAt'> & {
  fullName: string | null;
  occurredAt: Date | null;
};

type Where = { actor: Actor; appId: string; now: Date; addressDigest: AddressDigest };

/** Fills in the names and times that entries omit. For erased people, records no personal data. The lock of the app must be held. */
const enrichEntries = async (tx: Em, where: Where, submitted: readonly SubmittedEntry[]) => {
  const { actor, appId, now, addressDigest } = where;
  const names = await namesOf(tx, actor, submitted);
  const times = await timesByKey(tx, appId, submitted, now);
  const emails = new Set(submitted.map(({ email }) => email));
  const pseudonyms = await readPseudonyms(tx, addressDigest, emails);
  return submitted.map(({ fullName, occurredAt, ...entry }) => {
    const pseudonym = pseudonyms.get(entry.email);
    return {
      ...entry,
      fullName: fullName ?? names.get(entry.email) ?? '',
      occurredAt: occurredAt ?? times.get(entry.entryKey ?? '') ?? now,
      ...(pseudonym !== undefined && { email: pseudonym, fullName: '', extra: '{}', actionDescription: '' }),
    };
  });
};

/** The current names of users that the actor may see, for entries without a name. */
const namesOf = async (tx: Em, actor: Actor, submitted: readonly SubmittedEntry[]) => {
  const nameless = new Set(submitted.filter(({ fullName }) => fullName === null).map(({ email }) => email));
  if (nameless.size === 0) return new Map();
  const users = await kysely(tx)
    .selectFrom('users')
    .select(['email', fullName('users').as('name')])
    .where(isAnyOf('email', nameless, 'varchar'))
    .where(userVisibleTo(actor))
    .execute();
  return new Map(users.map(({ email, name }) => [email, name]));
};

/**
 * Times by id, for entries with an id but without a time: the time of the entry with this id in the log, or of another submitted entry.
 * Duplicates are recognized by id and time, so a repeat needs the time of the first entry.
 */
const timesByKey = async (tx: Em, appId: string, submitted: readonly SubmittedEntry[], now: Date) => {
  const times = new Map<string, Date>();
  const untimed = submitted.filter(({ entryKey, occurredAt }) => entryKey !== null && occurredAt === null);
  const untimedKeys = untimed.map(({ entryKey }) => entryKey);
  if (untimedKeys.length === 0) return times;
  const known = await kysely(tx)
    .selectFrom('usage_entries')
    .select(['entry_key as entryKey', 'occurred_at as occurredAt'])
    .where('app_id', '=', appId)
    .where(isAnyOf('entry_key', untimedKeys, 'varchar'))
    .where('occurred_at', '>', new Date(now.getTime() - DUPLICATE_LOOKBACK_DAYS * DAY_MS))
    .execute();
  for (const { entryKey, occurredAt } of [...submitted, ...known])
    if (entryKey !== null && occurredAt !== null) times.set(entryKey, occurredAt);
  return times;
};

/** The pseudonyms under which usage of erased addresses is recorded, by address. Only for addresses that no account has. */
const readPseudonyms = async (
  em: Em,
  addressDigest: AddressDigest,
  emails: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> => {
  const db = kysely(em);
  if (!(await db.selectFrom('erasures').select('id').limit(1).executeTakeFirst())) return new Map();
  const digests = new Map([...emails].map((email) => [addressDigest(email) ?? '', email]));
  const erased = await db
    .selectFrom('erasures')
    .leftJoin('users', 'users.id', 'erasures.user_id')
    // The account may have been erased again since.
    .select(['digests', sql<string>`coalesce(users.email, erasures.pseudonym)`.as('pseudonym')])
    .where(condition`digests && ${[...digests.keys()]}::varchar[]`)
    .orderBy('erasures.id')
    .execute();
  const held = await db
    .selectFrom('users')
    .select('email')
    .where(isAnyOf('email', emails, 'varchar'))
    .execute();
  const present = new Set(held.map(({ email }) => email));
  const named = erased.flatMap(({ digests: ofPerson, pseudonym }) =>
    ofPerson.flatMap((digest) => {
      const email = digests.get(digest);
      return email === undefined || present.has(email) ? [] : [[email, pseudonym] as const];
    }),
  );
  return new Map(named);
};
