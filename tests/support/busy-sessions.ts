import { sql } from 'kysely';
import type { TestApp } from './test-app.ts';

/** How many sessions of the app's database are running a statement or are in a transaction. */
export const busySessions = async (app: TestApp): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`.execute(app.db());
  return rows[0]?.count ?? 0;
};
