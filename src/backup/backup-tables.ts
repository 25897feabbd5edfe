import type pg from 'pg';
import { MIGRATIONS_TABLE } from '../db/schema-state.ts';
import type { BackupHeader, TableSummary } from './backup-format.ts';

type Table = BackupHeader['tables'][number];

/** For a transaction that compares rows as text: these settings decide how values look. */
export const TEXT_SETTINGS = `set local timezone = 'UTC'; set local datestyle = 'ISO, YMD';
  set local intervalstyle = 'postgres'; set local bytea_output = 'hex'; set local extra_float_digits = 1`;

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The backups that an installation has made are not part of its data: a copy of it must not remove them. */
const HISTORY_TABLE = 'backups';

/**
 * The tables of the service, each after those that it refers to, with the columns that a backup holds.
 * @param withHistory for the move of an installation
 */
export const readTables = async (client: pg.ClientBase, withHistory: boolean): Promise<Table[]> => {
  const { rows } = await client.query<Table & { refers_to: string[] }>(
    `select c.relname as name,
      array(select attname::text from pg_attribute a where a.attrelid = c.oid and attnum > 0
        and not attisdropped and attgenerated = '' order by attnum) as columns,
      array(select distinct f.relname::text from pg_constraint k join pg_class f on f.oid = k.confrelid
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as refers_to
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname <> all($1) order by c.relname`,
    [withHistory ? [MIGRATIONS_TABLE] : [MIGRATIONS_TABLE, HISTORY_TABLE]],
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

/** Counts the rows of a table and sums up their hashes, which servers of all versions compute alike. */
export const summarizeTable = async (client: pg.Client, { name, columns }: Table): Promise<TableSummary> => {
  const { rows } = await client.query<{ rows: string; checksum: string }>(
    `select count(*)::text as rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text as checksum
    from (select ${columns.map(quoted).join(', ')} from ${quoted(name)}) t`,
  );
  const [summary] = rows;
  if (!summary) throw new Error('An aggregate returns one row.');
  return { rows: Number(summary.rows), checksum: summary.checksum };
};

/** Continues the sequences of all tables after their largest ids. */
export const advanceSequences = async (client: pg.ClientBase): Promise<void> => {
  const { rows } = await client.query<{ table: string; column: string; sequence: string }>(
    `select c.relname as "table", a.attname as "column", pg_get_serial_sequence(quote_ident(c.relname), a.attname) as sequence
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and a.attnum > 0 and not a.attisdropped and pg_get_serial_sequence(quote_ident(c.relname), a.attname) is not null`,
  );
  for (const { table, column, sequence } of rows)
    await client.query(
      `select setval($1, (select coalesce(max(${quoted(column)}), 0) + 1 from ${quoted(table)}), false)`,
      [sequence],
    );
};

/** Whether the database has no table: a restore writes into nothing else. */
export const isEmptyDatabase = async (client: pg.ClientBase): Promise<boolean> => {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm')`,
  );
  return rows[0]?.count === 0;
};
