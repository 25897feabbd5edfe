import { setTimeout as sleep } from 'node:timers/promises';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { type RunningErasure, replaceRows } from './erased-rows.ts';
import { SEARCHED } from './personal-columns.ts';

/** Pages of a table that one transaction searches: 16 MiB. */
const BLOCKS = 2_048;
/** Entries of each log that one transaction replaces. */
const LOG_LIMIT = 5_000;
const RETRY_MS = 20;
/** Longer transactions are left to the next run. */
const MAX_WAIT_MS = 60_000;

/** `waiting`: for transactions that started before the erasure. */
type Progress = 'more' | 'waiting' | 'finished';

/**
 * Does what is left of an erasure, in small transactions that any instance may continue, until it is finished, the signal is
 * aborted, or another transaction runs for too long. Returns whether it is finished.
 */
export const finishErasure = async (
  em: SqlEntityManager,
  id: number,
  now: () => Date,
  signal?: AbortSignal,
): Promise<boolean> => {
  const givesUpAt = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const progress = await em.fork().transactional((tx) => advance(tx, id, now()));
    if (progress === 'finished') return true;
    if (signal?.aborted) return false;
    if (progress === 'more') continue;
    if (performance.now() > givesUpAt) return false;
    await sleep(RETRY_MS);
  }
};

/** Finishes the erasures that have work left: of a request that had no time left, or of an instance that was killed. */
export const resumeErasures = async (
  em: SqlEntityManager,
  now: () => Date,
  signal?: AbortSignal,
): Promise<void> => {
  const unfinished = tables(em).selectFrom('erasures').select('id').where('finished_at', 'is', null);
  for (const { id } of await unfinished.orderBy('id').execute()) await finishErasure(em, id, now, signal);
};

/**
 * One step: waits for transactions that ran at the same time as the replacement of the account and may have written the
 * address after it; then searches the texts of all tables; then replaces rows that hold the address. The last step removes
 * the address from the erasure itself.
 */
const advance = async (tx: SqlEntityManager, id: number, now: Date): Promise<Progress> => {
  const erasure = await lockErasure(tx, id);
  if (!erasure) return 'finished';
  if (!(await isSettled(tx, erasure))) return 'waiting';
  const [range] = await nextRanges(tx, erasure);
  if (range) {
    await replaceTexts(tx, erasure, range);
    await tables(tx)
      .updateTable('erasures')
      .set({ scanned_table: range.name, scanned_block: range.end })
      .where('id', '=', id)
      .execute();
    return 'more';
  }
  const replaced = await replaceRows(tx, erasure, { now, limit: LOG_LIMIT });
  if (Math.max(replaced.usage_entries, replaced.audit_entries) === LOG_LIMIT) return 'more';
  await tables(tx)
    .updateTable('erasures')
    .set({
      address: null,
      pattern: null,
      needles: null,
      transaction_id: null,
      scanned_table: null,
      finished_at: now,
    })
    .where('id', '=', id)
    .execute();
  return 'finished';
};

/** Two instances take turns. */
const lockErasure = async (tx: SqlEntityManager, id: number): Promise<RunningErasure | undefined> => {
  const row = await tables(tx)
    .selectFrom('erasures')
    .selectAll()
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  return row && row.address !== null ? { ...row, address: row.address } : undefined;
};

/** Whether all transactions that were running when the account was replaced have ended. */
const isSettled = async (tx: SqlEntityManager, { transaction_id: id }: RunningErasure): Promise<boolean> => {
  const { rows } = await sql<{ isSettled: boolean }>`
    select pg_snapshot_xmin(pg_current_snapshot()) > ${id}::text::xid8 as "isSettled"`.execute(tables(tx));
  return rows[0]?.isSettled === true;
};

type Range = { name: string; columns: { name: string; type: string }[]; start: number; end: number };

/** The next pages to search, in the order of table names. Partitions of a table are searched one by one. */
const nextRanges = async (tx: SqlEntityManager, erasure: RunningErasure): Promise<Range[]> => {
  const { scanned_table: scanned, scanned_block: block } = erasure;
  const { rows } = await sql<Range>`
    with searched as (
      select key as name, value as columns from json_each(${JSON.stringify(SEARCHED)}::json)),
    parts as (
      select c.oid, c.relname::text collate "C" as name, searched.name as root,
        ceil(pg_relation_size(c.oid) / current_setting('block_size')::float)::int as blocks
      from searched join pg_class root on root.relname = searched.name
        and root.relnamespace = current_schema()::regnamespace
      join pg_class c on c.oid = root.oid or c.oid in (select inhrelid from pg_inherits where inhparent = root.oid)
      where c.relkind = 'r')
    select parts.name, (
        select json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod)) order by attnum)
        from pg_attribute join searched on searched.name = parts.root
        where attrelid = parts.oid and attname in (select json_array_elements_text(searched.columns))) as columns,
      coalesce(part_start, 0)::int as start, least(blocks, coalesce(part_start, 0) + ${BLOCKS})::int as end
    from parts left join lateral (select ${block}::bigint as part_start where parts.name = ${scanned}) as current on true
    where (${scanned}::text is null or parts.name >= ${scanned}) and coalesce(part_start, 0) < blocks
    order by parts.name limit 1`.execute(tables(tx));
  return rows;
};

/** Casts back to the column's type, which truncates a text that has become too long. */
const replaceTexts = async (
  tx: SqlEntityManager,
  { id }: RunningErasure,
  { name, columns, start, end }: Range,
): Promise<void> => {
  const [table, from, to] = [sql.table(name), sql.lit(`(${start},0)`), sql.lit(`(${end},0)`)];
  const text = (column: string) => sql`t.${sql.ref(column)}::text`;
  const isIn = sql.join(
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
    update ${table} t set ${changes} from erasures e
    where e.id = ${id} and t.ctid >= ${from}::tid and t.ctid < ${to}::tid and (${isIn})`.execute(tables(tx));
};
