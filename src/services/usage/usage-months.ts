import { sql } from 'kysely';
import type { ClientBase } from 'pg';
import { type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { dayOf, isStaleWindow, LONGEST_WINDOW_DAYS, refreshStaleWindows } from '../apps/usage-windows.ts';

/** Serializes the creation of partitions. */
const LOCK = sql`hashtextextended('usage partitions', 0)`;

/** Held by the instance that drops months, and by transactions that rely on existing months. */
export const RETENTION_LOCK_KEY = "hashtextextended('usage retention', 0)";
export const RETENTION_LOCK = sql.raw(RETENTION_LOCK_KEY);

/** The lower bound of a partition as a UTC date. PostgreSQL prints it in the time zone of the session. */
export const FIRST_DAY = `case inhparent
    when 'usage_days'::regclass then substring(pg_get_expr(relpartbound, pg_class.oid) from 'FROM \\(''([^'']+)''')::date
    else (substring(pg_get_expr(relpartbound, pg_class.oid) from 'FROM \\(''([^'']+)''')::timestamptz at time zone 'UTC')::date
  end::text`;

type Partition = { name: string; table: string; month: string | null; isDetaching: boolean };

/** The partitions and the first day of each. */
const PARTITIONS = `
  select inhrelid::regclass::text as name, inhparent::regclass::text as "table", inhdetachpending as "isDetaching",
    ${FIRST_DAY} as month
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent in ('usage_entries'::regclass, 'usage_days'::regclass)`;

const ATTACHED = sql`(select "table", month from (${sql.raw(PARTITIONS)}) as partitions where not "isDetaching")`;

/** First day of the UTC month of a time, `months` later. */
export const monthOf = (at: Date, months = 0): Date =>
  new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1));

/** `usage_entries_2026_11` */
const partitionOf = (table: string, month: Date): string =>
  `${table}_${month.toISOString().slice(0, 7).replace('-', '_')}`;

/** The first days of the months of these times, as `YYYY-MM-DD`. */
const monthsOf = (times: readonly Date[]): string[] =>
  [...new Set(times.map((at) => `${at.toISOString().slice(0, 7)}-01`))].sort();

type Missing = { table: string; month: string };

/**
 * Creates the missing partitions for these times. Attaching a table does not wait for readers and writers;
 * `create table … partition of` would lock the whole log.
 */
export const ensureMonths = async (em: Em, times: readonly Date[]): Promise<void> => {
  const months = monthsOf(times);
  if ((await missingPartitions(em, months)).length === 0) return;
  await em.transactional(async (tx) => {
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(kysely(tx));
    // Meanwhile, another transaction may have created them.
    for (const { table, month } of await missingPartitions(tx, months))
      await addPartition(tx, table, new Date(month));
  });
};

/** Reads the catalog: `to_regclass` may use a cache of the connection. */
const missingPartitions = async (tx: Em, months: string[]): Promise<Missing[]> => {
  const { rows } = await sql<Missing>`
    select wanted."table", wanted.month
    from (select "table", month from unnest(array['usage_entries', 'usage_days']) as "table", unnest(${months}::text[]) as month)
      as wanted left join ${ATTACHED} as attached using ("table", month)
    where attached.month is null order by 1, 2`.execute(kysely(tx));
  return rows;
};

const addPartition = async (tx: Em, table: string, month: Date): Promise<void> => {
  const name = sql.table(partitionOf(table, month));
  const [from, to] = [month, monthOf(month, 1)].map((at) => sql.lit(at.toISOString()));
  // Free space for HOT updates: a row that moves to another page needs new index entries.
  const room = table === 'usage_days' ? sql`with (fillfactor = 80)` : sql``;
  const parent = sql.table(table);
  const create = sql`create table ${name} (like ${parent} including defaults including constraints) ${room}`;
  await create.execute(kysely(tx));
  const attach = sql`alter table ${parent} attach partition ${name} for values from (${from}) to (${to})`;
  await attach.execute(kysely(tx));
};

/** The months of the log, oldest first. */
export const logMonths = async (em: Em): Promise<Date[]> => {
  const { rows } = await sql<{ month: string }>`
    select month from ${ATTACHED} as attached
    where "table" = 'usage_entries' and month is not null order by month`.execute(kysely(em));
  return rows.map(({ month }) => new Date(month));
};

/** Opens a session whose statements have no time limit, except when they wait for a lock. */
type OpenSession = (lockTimeoutMs: number) => Promise<ClientBase & { end: () => Promise<void> }>;

/** Detaching a partition waits for all its readers, such as a dump. After this time, the next run tries again. */
const LOCK_TIMEOUT_MS = 30_000;

/** The comment of a table from before it is detached until it is dropped. Only tables with this comment are dropped. */
const MARK = 'A month of usage that Steward is dropping.';

/** Tables that were detached, including by an earlier run that was interrupted. */
const DETACHED = `
  select pg_class.oid::regclass::text as name from pg_class join pg_description on objoid = pg_class.oid and objsubid = 0
  where relkind = 'r' and not relispartition and description = '${MARK}'`;

/** Months are created before their first entry. */
const MONTHS_AHEAD = [0, 1, 2];

type Deps = { em: Em; openSession: OpenSession; now: Date; retentionDays: number; signal?: AbortSignal };

/** Creates the next months of the log, drops expired ones, and moves windows to the current day. */
export const maintainUsage = async (deps: Deps): Promise<void> => {
  const { em, openSession, now, retentionDays, signal } = deps;
  const months = MONTHS_AHEAD.map((ahead) => monthOf(now, ahead));
  await ensureMonths(em, months);
  const windows = kysely(em).selectFrom('usage_windows').select('app_id');
  const stale = await windows.where(isStaleWindow(dayOf(now))).execute();
  const staleIds = stale.map(({ app_id }) => app_id);
  await refreshStaleWindows(em, staleIds, now);
  await dropOldMonths(openSession, now, retentionDays, signal);
};

/**
 * Drops whole partitions that are older than `retentionDays`. Does nothing while another instance does it. A month that cannot be dropped
 * does not prevent the others.
 * @param signal closes the sessions; their waiting statements fail
 * @throws AggregateError of the failures
 */
export const dropOldMonths = async (
  openSession: OpenSession,
  now: Date,
  retentionDays: number,
  signal?: AbortSignal,
): Promise<string[]> => {
  await using closing = new AsyncDisposableStack();
  const open = async () => closing.adopt(await openSession(LOCK_TIMEOUT_MS), (session) => session.end());
  const lock = await open();
  await lock.query('begin');
  await lock.query('set local idle_in_transaction_session_timeout = 0');
  // A transaction-level lock: a connection pooler may share sessions.
  const { rows } = await lock.query<{ held: boolean }>(
    `select pg_try_advisory_xact_lock(${RETENTION_LOCK_KEY}) as held`,
  );
  if (!rows[0]?.held) return [];
  const client = await open();
  const abort = (): void => void client.end();
  signal?.addEventListener('abort', abort, { once: true });
  closing.defer(() => signal?.removeEventListener('abort', abort));
  signal?.throwIfAborted();
  return await dropAll(client, oldest(now, retentionDays));
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
  // Partitions that are being detached come first: a table can have only one such partition.
  const { rows } = await client.query<Partition>(`${PARTITIONS} order by inhdetachpending desc, month`);
  const old = rows.filter(({ table, month }) => month !== null && month < (kept[table] ?? ''));
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

/** `concurrently`, because otherwise readers and writers would be blocked. */
const detach = async (client: ClientBase, { name, table, isDetaching }: Partition): Promise<void> => {
  const how = isDetaching ? 'finalize' : 'concurrently';
  await client.query({ text: `comment on table ${name} is '${MARK}'` });
  await client.query({ text: `alter table ${table} detach partition ${name} ${how}` });
};
