import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';

/** The tables that are partitioned by month. */
export const PARTITIONED = ['usage_entries', 'usage_days'] as const;

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

/** Partitions and the first day of each, without those that are being detached. */
const ATTACHED = sql`
  select inhparent::regclass::text as "table", ${sql.raw(FIRST_DAY)} as month
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent in ('usage_entries'::regclass, 'usage_days'::regclass) and not inhdetachpending`;

/** First day of the UTC month of a time, `months` later. */
export const monthOf = (at: Date, months = 0): Date =>
  new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1));

/** `usage_entries_2026_11` */
export const partitionOf = (table: string, month: Date): string =>
  `${table}_${month.toISOString().slice(0, 7).replace('-', '_')}`;

/** The first days of the months of these times, as `YYYY-MM-DD`. */
const monthsOf = (times: readonly Date[]): string[] =>
  [...new Set(times.map((at) => `${at.toISOString().slice(0, 7)}-01`))].sort();

type Missing = { table: string; month: string };

/**
 * Creates the missing partitions for these times. Attaching a table does not wait for readers and writers;
 * `create table … partition of` would lock the whole log.
 */
export const ensureMonths = async (em: Db, times: readonly Date[]): Promise<void> => {
  const months = monthsOf(times);
  if ((await missingPartitions(em, months)).length === 0) return;
  await em.transactional(async (tx) => {
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tables(tx));
    // Another transaction may have created them in between.
    for (const { table, month } of await missingPartitions(tx, months))
      await addPartition(tx, table, new Date(month));
  });
};

/** Reads the catalog: `to_regclass` may use a cache of the connection. */
const missingPartitions = async (tx: Db, months: string[]): Promise<Missing[]> => {
  const { rows } = await sql<Missing>`
    select wanted."table", wanted.month
    from (select "table", month from unnest(${[...PARTITIONED]}::text[]) as "table", unnest(${months}::text[]) as month)
      as wanted left join (${ATTACHED}) as attached using ("table", month)
    where attached.month is null order by 1, 2`.execute(tables(tx));
  return rows;
};

const addPartition = async (tx: Db, table: string, month: Date): Promise<void> => {
  const name = sql.table(await freeName(tx, partitionOf(table, month)));
  const [from, to] = [month, monthOf(month, 1)].map((at) => sql.lit(at.toISOString()));
  // Free space for HOT updates: a row that moves to another page needs new index entries.
  const room = table === 'usage_days' ? sql`with (fillfactor = 80)` : sql``;
  const parent = sql.table(table);
  const create = sql`create table ${name} (like ${parent} including defaults including constraints) ${room}`;
  await create.execute(tables(tx));
  await sql`alter table ${parent} attach partition ${name} for values from (${from}) to (${to})`.execute(
    tables(tx),
  );
};

/** An unrelated table may have this name, for example a restored month. */
const freeName = async (tx: Db, name: string): Promise<string> => {
  const { rows } = await sql`
    select from pg_class where relname = ${name} and relnamespace = current_schema()::regnamespace`.execute(
    tables(tx),
  );
  return rows.length === 0 ? name : `${name}_${randomBytes(4).toString('hex')}`;
};

/** The months of the log, oldest first. */
export const logMonths = async (em: Db): Promise<Date[]> => {
  const { rows } = await sql<{ month: string }>`
    select month from (${ATTACHED}) as attached
    where "table" = 'usage_entries' and month is not null order by month`.execute(tables(em));
  return rows.map(({ month }) => new Date(month));
};
