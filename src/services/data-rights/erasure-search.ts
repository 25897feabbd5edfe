import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { RunningErasure } from './erased-rows.ts';
import { SEARCHED } from './personal-columns.ts';

/** Pages of a table that one transaction searches: 16 MiB. */
const PAGES = 2_048;
/** Pages in which one statement looks for new rows, of which it reads nothing else: 512 MiB. */
const NEW_ROW_PAGES = 65_536;
/** As the number of pages that are done: more than a table can have. */
const ALL_PAGES = 2 ** 32;

/**
 * Replaces the person in the texts of the next pages, and records them as done. An update may move a row to a page that was
 * searched before; therefore, the last transaction of each table also searches all rows of it that were written since the
 * erasure began. Requires an isolation level with one snapshot, which shows each row at one place: a row that another
 * transaction changes at the same time fails the transaction, which has to be repeated.
 * @returns whether there was anything to search
 */
export const searchNextPages = async (tx: SqlEntityManager, erasure: RunningErasure): Promise<boolean> => {
  const [range] = await nextRanges(tx, erasure);
  if (!range) return false;
  const { start, end, pages } = range;
  const isLast = end === pages;
  await replaceTexts(tx, erasure, range, inPages(start, end));
  if (isLast && start > 0)
    for (let page = 0; page < pages; page += NEW_ROW_PAGES)
      await replaceTexts(
        tx,
        erasure,
        range,
        sql`${inPages(page, page + NEW_ROW_PAGES)} and ${isNew(erasure)}`,
      );
  await tables(tx)
    .updateTable('erasures')
    .set({ scanned_table: range.name, scanned_block: isLast ? ALL_PAGES : end })
    .where('id', '=', erasure.id)
    .execute();
  return true;
};

/** For the transaction that restores a backup: there, rows have other places, and transactions other ids. */
export const RESTART_SEARCHES = `update erasures set transaction_id = pg_current_xact_id()::text,
  scanned_table = null, scanned_block = 0 where finished_at is null`;

type Range = {
  name: string;
  columns: { name: string; type: string }[];
  start: number;
  end: number;
  pages: number;
};

/** The next pages to search, in the order of table names. Partitions of a table are searched one by one. */
const nextRanges = async (tx: SqlEntityManager, erasure: RunningErasure): Promise<Range[]> => {
  const { scanned_table: scanned, scanned_block: block } = erasure;
  const { rows } = await sql<Range>`
    with searched as (
      select key as name, value as columns from json_each(${JSON.stringify(SEARCHED)}::json)),
    parts as (
      select c.oid, c.relname::text collate "C" as name, searched.name as root,
        ceil(pg_relation_size(c.oid) / current_setting('block_size')::float)::int as pages
      from searched join pg_class root on root.relname = searched.name
        and root.relnamespace = current_schema()::regnamespace
      join pg_class c on c.oid = root.oid or c.oid in (select inhrelid from pg_inherits where inhparent = root.oid)
      where c.relkind = 'r')
    select parts.name, (
        select json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod)) order by attnum)
        from pg_attribute join searched on searched.name = parts.root
        where attrelid = parts.oid and attname in (select json_array_elements_text(searched.columns))) as columns,
      coalesce(part_start, 0)::int as start, least(pages, coalesce(part_start, 0) + ${PAGES})::int as end, pages
    from parts left join lateral (select ${block}::bigint as part_start where parts.name = ${scanned}) as current on true
    where (${scanned}::text is null or parts.name >= ${scanned}) and coalesce(part_start, 0) < pages
    order by parts.name limit 1`.execute(tables(tx));
  return rows;
};

const inPages = (start: number, end: number) =>
  sql`t.ctid >= ${sql.lit(`(${start},0)`)}::tid and t.ctid < ${sql.lit(`(${end},0)`)}::tid`;

/** Transactions up to the one that replaced the account had ended before the search began. */
const isNew = ({ transaction_id: id }: RunningErasure) => sql`age(t.xmin) <= age(${id}::text::xid8::xid)`;

/** Casts back to the column's type, which truncates a text that has become too long. */
const replaceTexts = async (
  tx: SqlEntityManager,
  { id }: RunningErasure,
  { name, columns }: Range,
  isWanted: RawBuilder<unknown>,
): Promise<void> => {
  const text = (column: string) => sql`t.${sql.ref(column)}::text`;
  const isNamed = sql.join(
    columns.map((column) => sql`lower(${text(column.name)}) like any (e.needles)`),
    sql` or `,
  );
  const changes =
    name === 'audit_entries'
      ? sql`(actor_email, target, details, address) =
          (select x.actor_email, x.target, x.details, x.address from erased_audit_entry(t, e) x)`
      : sql.join(
          columns.map(
            (column) =>
              sql`${sql.ref(column.name)} = erased_text(${text(column.name)}, e)::${sql.raw(column.type)}`,
          ),
        );
  await sql`
    update ${sql.table(name)} t set ${changes} from erasures e
    where e.id = ${id} and ${isWanted} and (${isNamed})`.execute(tables(tx));
};
