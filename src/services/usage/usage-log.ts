import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../tables.ts';

export type UsageEntryInput = {
  appId: string;
  email: string;
  fullName: string;
  action: string;
  actionDescription: string;
  extra: Record<string, unknown>;
  occurredAt: Date;
};

/** Adds entries to the log, and to the daily rollup in the same transaction: one statement each. */
export const writeUsage = (em: SqlEntityManager, entries: readonly UsageEntryInput[]): Promise<void> =>
  em.transactional(async (tx) => {
    if (entries.length === 0) return;
    await ensureMonths(tx, entries);
    const db = tables(tx);
    const column = <T>(pick: (entry: UsageEntryInput) => T): T[] => entries.map(pick);
    await sql`
      insert into usage_entries (app_id, email, full_name, action, action_description, extra, occurred_at)
      select * from unnest(
        ${column((e) => e.appId)}::varchar[], ${column((e) => e.email)}::varchar[],
        ${column((e) => e.fullName)}::varchar[], ${column((e) => e.action)}::varchar[],
        ${column((e) => e.actionDescription)}::text[], ${column((e) => JSON.stringify(e.extra))}::json[],
        ${column((e) => e.occurredAt)}::timestamptz[])`.execute(db);
    await sql`
      insert into usage_days (app_id, day, email, actions)
      select app_id, (occurred_at at time zone 'UTC')::date, email, count(*)
      from unnest(${column((e) => e.appId)}::varchar[], ${column((e) => e.email)}::varchar[],
        ${column((e) => e.occurredAt)}::timestamptz[]) as entries (app_id, email, occurred_at)
      group by 1, 2, 3 order by 1, 2, 3
      on conflict (app_id, email, day) do update set actions = usage_days.actions + excluded.actions`.execute(
      db,
    );
  });

/**
 * Makes the monthly partitions that these entries fall into. The lock keeps two transactions from making the
 * same one, which `if not exists` alone does not.
 */
const ensureMonths = async (tx: SqlEntityManager, entries: readonly UsageEntryInput[]): Promise<void> => {
  const months = new Set(entries.map((entry) => entry.occurredAt.toISOString().slice(0, 7)));
  const db = tables(tx);
  for (const month of [...months].sort()) {
    const partition = `usage_entries_${month.replace('-', '_')}`;
    const existing = await sql<{ oid: number | null }>`select to_regclass(${partition}) as oid`.execute(db);
    if (existing.rows[0]?.oid) continue;

    const from = new Date(`${month}-01T00:00:00Z`);
    const to = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1));
    await sql`select pg_advisory_xact_lock(hashtextextended('usage partitions', 0))`.execute(db);
    await sql`create table if not exists ${sql.table(partition)} partition of usage_entries
      for values from (${sql.lit(from.toISOString())}) to (${sql.lit(to.toISOString())})`.execute(db);
    await sql`create table if not exists ${sql.table(partition.replace('entries', 'days'))} partition of usage_days
      for values from (${sql.lit(from.toISOString().slice(0, 10))}) to (${sql.lit(to.toISOString().slice(0, 10))})`.execute(
      db,
    );
  }
};
