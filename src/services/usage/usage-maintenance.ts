import type { ClientBase } from 'pg';
import { type Db, tables } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { ensureMonths, FIRST_DAY, monthOf } from './usage-partitions.ts';
import { LONGEST_WINDOW_DAYS } from './usage-rollups.ts';
import { dayOf, isStaleWindow, refreshStaleWindows } from './usage-windows.ts';

/** Opens a session whose statements have no limit but that of waiting for a lock. */
export type OpenSession = (lockTimeoutMs: number) => Promise<ClientBase & { end: () => Promise<void> }>;

/** Detaching a partition waits for all its readers, such as a dump. Then it is left to the next run. */
const LOCK_TIMEOUT_MS = 30_000;

/**
 * Takes RETENTION_LOCK in a transaction that stays open while months are dropped. A connection pooler may share sessions, so a
 * session-level lock would not be safe.
 */
const TRY_LOCK = `select pg_try_advisory_xact_lock(hashtextextended('usage retention', 0)) as held`;
/** The comment of a table from before it is detached until it is dropped. Only tables with this comment are dropped. */
const MARK = 'A month of usage that Steward is dropping.';

type Partition = { name: string; parent: string; month: string | null; isDetaching: boolean };

/** Partitions that are being detached come first: a table can have only one. */
const ATTACHED = `
  select inhrelid::regclass::text as name, inhparent::regclass::text as parent, inhdetachpending as "isDetaching",
    ${FIRST_DAY} as month
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent in ('usage_entries'::regclass, 'usage_days'::regclass)
  order by inhdetachpending desc, month`;

/** Tables that were detached, also by an earlier run that was interrupted. */
const DETACHED = `
  select pg_class.oid::regclass::text as name from pg_class join pg_description on objoid = pg_class.oid and objsubid = 0
  where relkind = 'r' and not relispartition and description = '${MARK}'`;

/** Months are created before their first entry. */
const MONTHS_AHEAD = [0, 1, 2];

type Deps = { em: Db; openSession: OpenSession; now: Date; retentionDays: number; signal?: AbortSignal };

/** Creates the next months of the log, drops expired ones, and moves windows to the current day. */
export const maintainUsage = async (deps: Deps): Promise<void> => {
  const { em, openSession, now, retentionDays, signal } = deps;
  const months = MONTHS_AHEAD.map((ahead) => monthOf(now, ahead));
  await ensureMonths(em, months);
  const windows = tables(em).selectFrom('usage_windows').select('app_id');
  const stale = await windows.where(isStaleWindow(dayOf(now))).execute();
  const staleIds = stale.map(({ app_id }) => app_id);
  await refreshStaleWindows(em, staleIds, now);
  await dropOldMonths(openSession, now, retentionDays, signal);
};

/**
 * Drops whole partitions that are older than `retentionDays`. Does nothing while another instance does it. A month that cannot
 * be dropped does not prevent the others.
 * @param signal closes the sessions, which fails what they wait for
 * @throws AggregateError of the failures
 */
export const dropOldMonths = async (
  openSession: OpenSession,
  now: Date,
  retentionDays: number,
  signal?: AbortSignal,
): Promise<string[]> => {
  const lock = await openSession(LOCK_TIMEOUT_MS);
  try {
    await lock.query('begin');
    await lock.query('set local idle_in_transaction_session_timeout = 0');
    const { rows } = await lock.query<{ held: boolean }>(TRY_LOCK);
    if (!rows[0]?.held) return [];
    const client = await openSession(LOCK_TIMEOUT_MS);
    const abort = (): void => void client.end();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      signal?.throwIfAborted();
      return await dropAll(client, oldest(now, retentionDays));
    } finally {
      signal?.removeEventListener('abort', abort);
      await client.end();
    }
  } finally {
    await lock.end();
  }
};

/** By table, the first day of the oldest month to keep. Totals by user are kept for the longest window. */
const oldest = (now: Date, retentionDays: number): Record<string, string> => {
  const firstDay = (days: number) => dayOf(monthOf(new Date(now.getTime() - days * DAY_MS)));
  return {
    usage_entries: firstDay(retentionDays),
    usage_days: firstDay(Math.max(retentionDays, LONGEST_WINDOW_DAYS)),
  };
};

const dropAll = async (client: ClientBase, kept: Record<string, string>): Promise<string[]> => {
  const { rows } = await client.query<Partition>(ATTACHED);
  const old = rows.filter(({ parent, month }) => month !== null && month < (kept[parent] ?? ''));
  const failures: unknown[] = [];
  for (const partition of old)
    await detach(client, partition).catch((error: unknown) => failures.push(error));

  const dropped: string[] = [];
  for (const { name } of (await client.query<{ name: string }>(DETACHED)).rows) {
    await client.query({ text: `drop table ${name}` }).then(
      () => dropped.push(name),
      (error: unknown) => failures.push(error),
    );
  }
  if (failures.length > 0) throw new AggregateError(failures, 'Some months of usage could not be dropped.');
  return dropped;
};

/** `concurrently`, because otherwise readers and writers are blocked. */
const detach = async (client: ClientBase, { name, parent, isDetaching }: Partition): Promise<void> => {
  const how = isDetaching ? 'finalize' : 'concurrently';
  await client.query({ text: `comment on table ${name} is '${MARK}'` });
  await client.query({ text: `alter table ${parent} detach partition ${name} ${how}` });
};
