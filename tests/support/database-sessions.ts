import { sql } from 'kysely';
import { Client } from 'pg';
import type { TestApp } from './test-app.ts';
import { until } from './time.ts';

/** How many sessions of the app's database are running a statement or are in a transaction. */
export const busySessions = async (app: TestApp): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`.execute(app.db());
  return rows[0]?.count ?? 0;
};

/** Whether a statement of the app waits for a lock of another transaction. */
export const isWaiting = async (app: TestApp): Promise<boolean> => {
  const { rows } = await sql`select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(app.db());
  return rows.length > 0;
};

/** Runs `work`, during which the database ends the session that writes the row after `count` others, as a shutdown does. */
export const interruptedAt = async <T>(
  app: TestApp,
  table: 'audit_entries' | 'operation_changes' | 'outbox_mails',
  count: number,
  work: () => Promise<T>,
): Promise<T> => {
  await sql`
    create sequence interruption;
    create function interrupt() returns trigger language plpgsql as $$ begin
      if nextval('interruption') > ${sql.lit(count)} then
        raise exception 'terminating connection due to administrator command' using errcode = '57P01';
      end if;
      return new; end $$;
    create trigger interruption before insert on ${sql.table(table)} for each row execute function interrupt()`.execute(
    app.db(),
  );
  try {
    return await work();
  } finally {
    await sql`drop function interrupt cascade; drop sequence interruption`.execute(app.db());
  }
};

/** Starts the call, and does the work while the call waits for the row of a user. */
export const whileLocked = async <T>(
  app: TestApp,
  { email }: { email: string },
  call: () => Promise<T>,
  work: () => Promise<unknown>,
): Promise<T> => {
  const holder = new Client(app.connection);
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query('select from users where email = $1 for update', [email]);
    const outcome = call();
    await untilWaiting(holder);
    await work();
    await holder.query('commit');
    return await outcome;
  } finally {
    await holder.end();
  }
};

/** Runs the calls at the same time. A lock holds them at `table` until each of them waits for a lock. */
export const runConcurrently = async <T>(
  app: TestApp,
  table: 'apps' | 'fetched_packages' | 'sessions',
  works: (() => Promise<T>)[],
): Promise<PromiseSettledResult<T>[]> => {
  const holder = new Client(app.connection);
  await holder.connect();
  try {
    await holder.query(`begin; lock table ${table} in access exclusive mode`);
    const outcomes = Promise.allSettled(works.map((work) => work()));
    await untilWaiting(holder, works.length);
    await holder.query('commit');
    return await outcomes;
  } finally {
    await holder.end();
  }
};

/** Waits until this many sessions wait for a lock. */
export const untilWaiting = (holder: Client, count = 1) =>
  until(`${count} wait for a lock`, async () => {
    // A transaction keeps its first snapshot of `pg_stat_activity` until it is cleared.
    await holder.query('select pg_stat_clear_snapshot()');
    const { rowCount } = await holder.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rowCount === count;
  });
