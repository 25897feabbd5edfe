import type pg from 'pg';

/** SQLSTATE read_only_sql_transaction: the server is a standby, or a primary that was demoted or made read-only. */
const READ_ONLY = '25006';

/** The pool's own limit covers connecting only. */
const CHECK_TIMEOUT_MS = 5_000;

const IS_READ_ONLY = `select current_setting('transaction_read_only')::bool as "isReadOnly"`;

const discarded = new WeakSet<pg.ClientBase>();

/**
 * For `onConnect` of a pool. A session that starts read-only can stay so after the server accepts writes again, as with
 * `alter database … set default_transaction_read_only`: such a connection is used once.
 */
export const checkReadOnly = async (client: pg.ClientBase): Promise<void> => {
  const query = { text: IS_READ_ONLY, query_timeout: CHECK_TIMEOUT_MS };
  const { rows } = await client.query<{ isReadOnly: boolean }>(query);
  if (rows[0]?.isReadOnly) discarded.add(client);
};

/** Closes connections to a read-only server when they are released: the next one may lead to the new primary. */
export const discardReadOnly = (pool: pg.Pool): void => {
  const watched = new WeakSet<pg.PoolClient>();
  pool.on('acquire', (client) => {
    if (watched.has(client)) return;
    watched.add(client);
    client.connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code === READ_ONLY) discarded.add(client);
    });
  });
  pool.on('release', (_error, client) => {
    // The pool removes a client that has been ended.
    if (discarded.has(client)) void client.end();
  });
};
