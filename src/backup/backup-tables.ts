import type pg from 'pg';
import { MIGRATIONS_TABLE } from '../db/migrate.ts';
import type { BackupHeader, TableSummary } from './backup-format.ts';

type Table = BackupHeader['tables'][number];

/** For a transaction that compares rows as text: these settings determine the text of values. */
export const TEXT_SETTINGS = `set local timezone = 'UTC'; set local datestyle = 'ISO, YMD';
  set local intervalstyle = 'postgres'; set local bytea_output = 'hex'; set local extra_float_digits = 1`;

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The list of backups is not part of an installation's data: a copy must not remove the backups. */
const HISTORY_TABLE = 'backups';

/** The tables of the service, each after the tables that it refers to, with the columns that a backup holds. */
export const readTables = async (client: pg.ClientBase): Promise<Table[]> => {
  const { rows } = await client.query<Table & { refers_to: string[] }>(
    `select c.relname as name,
      array(select attname::text from pg_attribute a where a.attrelid = c.oid and attnum > 0
        and not attisdropped and attgenerated = '' order by attnum) as columns,
      array(select distinct f.relname::text from pg_constraint k join pg_class f on f.oid = k.confrelid
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as refers_to
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname <> all($1) order by c.relname`,
    [[MIGRATIONS_TABLE, HISTORY_TABLE]],
  );
  const sorted: Table[] = [];
  const isSorted = (name: string): boolean => sorted.some((table) => table.name === name);
  for (let left = rows; left.length > 0; ) {
    const ready = left.filter(({ refers_to }) => refers_to.every(isSorted));
    if (ready.length === 0) throw new Error(`Tables refer to each other: ${left.map(({ name }) => name)}.`);
    sorted.push(...ready.map(({ name, columns }) => ({ name, columns })));
    left = left.filter((table) => !ready.includes(table));
  }
  return sorted;
};

/** Counts the rows of a table and sums up their hashes. Servers of all versions compute the same sum. */
export const summarizeTable = async (client: pg.Client, { name, columns }: Table): Promise<TableSummary> => {
  const { rows } = await client.query<{ rows: string; checksum: string }>(
    `select count(*)::text as rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text as checksum
    from (select ${columns.map(quoted).join(', ')} from ${quoted(name)}) t`,
  );
  const [summary] = rows;
  if (!summary) throw new Error('An aggregate returns one row.');
  return { rows: Number(summary.rows), checksum: summary.checksum };
};

/**
 * The next value of each sequence. Read it after the snapshot was taken: sequences are not part of a snapshot, and their values must exceed
 * all of its ids.
 */
export const readSequences = async (client: pg.ClientBase): Promise<Record<string, string>> => {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'S' and relnamespace = current_schema()::regnamespace
      and relname <> '${MIGRATIONS_TABLE}_id_seq' order by relname`,
  );
  const sequences: Record<string, string> = {};
  for (const { name } of rows) {
    // Not from pg_sequences: it has no value for a sequence that was set but not used since.
    const { rows: values } = await client.query<{ next: string }>(
      `select (last_value::numeric + is_called::int)::text as next from ${quoted(name)}`,
    );
    if (values[0]) sequences[name] = values[0].next;
  }
  return sequences;
};

/** Sets the sequences to the values in the backup, so that ids of deleted rows are not used again. */
export const advanceSequences = async (
  client: pg.ClientBase,
  sequences: Record<string, string>,
): Promise<void> => {
  await client.query(
    `select setval(oid::regclass, next::bigint, false) from json_each_text($1) as recorded(name, next)
    join pg_class on relname = name and relkind = 'S' and relnamespace = current_schema()::regnamespace`,
    [JSON.stringify(sequences)],
  );
};

/** Whether the database has no tables. A restore writes only into such a database. */
export const isEmptyDatabase = async (client: pg.ClientBase): Promise<boolean> => {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm')`,
  );
  return rows[0]?.count === 0;
};
