import pg from 'pg';
import type { Connection } from '../config/connection.ts';

/**
 * PostgreSQL settings of every pooled session, sent as startup options.
 *
 * The planner's defaults suit spinning disks and large analytical queries. With them PostgreSQL scans 200 apps for each user
 * instead of fetching three by key, compiles for longer than the query runs, and starts workers for one page of a list.
 */
const SESSION_SETTINGS: Readonly<Record<string, string>> = {
  // A call answers 503 after 10 s. Its statements end soon after, because they hold a connection that others need; waits for locks end
  // before, so that the caller reads their error.
  lock_timeout: '8s',
  statement_timeout: '12s',
  // An instance that freezes within a transaction holds locks that all other instances wait for.
  idle_in_transaction_session_timeout: '15s',
  // The server ends sessions whose client is unreachable, and releases their locks. Unix sockets ignore these.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '20s',
  random_page_cost: '1.1',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
};

/** The startup parameter `options`. The last value of a setting wins: the operator's, but UTC for every date that SQL computes. */
export const sessionOptions = (operatorOptions = ''): string =>
  [
    ...Object.entries(SESSION_SETTINGS).map(([name, value]) => `-c ${name}=${value}`),
    operatorOptions,
    '-c TimeZone=UTC',
  ]
    .filter(Boolean)
    .join(' ');

/**
 * Warns if a connection pooler has dropped the startup options (PgBouncer's `ignore_startup_parameters`), with the statements
 * that store them for the role instead. Results are correct without them, but waits have no limits.
 */
export const warnOfLostSettings = async (
  pool: pg.Pool,
  { user, database }: Pick<Connection, 'user' | 'database'>,
  warn: (line: string) => void,
): Promise<void> => {
  // Unix sockets have no TCP settings, and a pooler has its own.
  const names = Object.keys(SESSION_SETTINGS).filter((name) => !name.startsWith('tcp_'));
  const { rows } = await pool.query<{ name: string; value: string; isSent: boolean }>(
    `select name, current_setting(name) as value, source = 'client' as "isSent" from pg_settings where name = any($1)`,
    [names],
  );
  const lost = rows.filter(({ name, value, isSent }) => !isSent && value !== SESSION_SETTINGS[name]);
  if (lost.length === 0) return;
  const role = `alter role ${pg.escapeIdentifier(user)} in database ${pg.escapeIdentifier(database)}`;
  const statements = lost.map(
    ({ name }) => `${role} set ${name} = ${pg.escapeLiteral(SESSION_SETTINGS[name] ?? '')};`,
  );
  warn(`The connection pooler drops startup options. Store them for the role: ${statements.join(' ')}`);
};
