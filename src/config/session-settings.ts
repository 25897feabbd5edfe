/**
 * PostgreSQL settings of every pooled session, sent as startup options.
 *
 * The planner's defaults suit spinning disks and large analytical queries. With them PostgreSQL scans 200 apps for each user
 * instead of fetching three by key, compiles for longer than the query runs, and starts workers for one page of a list.
 */
export const SESSION_SETTINGS: Readonly<Record<string, string>> = {
  statement_timeout: '20s',
  // A session that waits longer for a row holds a connection that others need. Below the deadline of a request, which cuts
  // the connection.
  lock_timeout: '8s',
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

/** Every date that SQL computes (days of usage, months of partitions) is a UTC date. */
const REQUIRED = { TimeZone: 'UTC' };

const optionsOf = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');

/** The startup parameter `options`. Of several settings of a name, PostgreSQL uses the last: those of the operator, then UTC. */
export const sessionOptions = (operatorOptions = ''): string =>
  [optionsOf(SESSION_SETTINGS), operatorOptions, optionsOf(REQUIRED)].filter((part) => part !== '').join(' ');
