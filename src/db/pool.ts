import type pg from 'pg';
import { beforeDeadline, DeadlineExceeded } from '../lib/deadline.ts';

/**
 * Gives back connections that are lost in a transaction. Kysely releases one only after a commit or rollback that
 * went well, so each loss would cost a place in the pool for good, and closing the pool would wait for ever.
 */
export const releaseLost = (pool: pg.Pool): void => {
  const lent = new Map<pg.PoolClient, () => void>();
  pool.on('acquire', (client) => {
    const giveBack = () => {
      client.release(true);
      // Whoever still holds it may release it again, which would throw.
      client.release = () => undefined;
    };
    lent.set(client, giveBack);
    client.once('end', giveBack);
  });
  pool.on('release', (_error, client) => {
    const giveBack = lent.get(client);
    if (giveBack) client.off('end', giveBack);
    lent.delete(client);
  });
};

/**
 * Replaces the idle connections when one is lost, or was cut because its server no longer answered: what has happened to it,
 * such as a network that drops packets, is likely to have happened to them.
 */
export const discardIdleAfterLoss = (pool: pg.Pool): void => {
  pool.on('connect', (client) => {
    client.once('error', () => discardIdle(pool));
  });
};

const discardIdle = (pool: pg.Pool): void => {
  for (let left = pool.idleCount; left > 0; left -= 1)
    pool.connect().then(
      (client) => client.release(true),
      () => {},
    );
};

/** Requests wait for a connection no longer than they have time. */
export const boundConnects = (pool: pg.Pool): void => {
  const connect = pool.connect.bind(pool) as (...all: unknown[]) => unknown; // it has two forms
  const connectInTime = () => {
    const connecting = connect() as Promise<pg.PoolClient>;
    return beforeDeadline(connecting).catch((error: unknown) => {
      if (error instanceof DeadlineExceeded)
        connecting.then(
          (client) => client.release(),
          () => {},
        );
      throw error;
    });
  };
  Object.assign(pool, {
    connect: (...all: unknown[]) => (all.length === 0 ? connectInTime() : connect(...all)),
  });
};

/** SQLSTATE disk_full. */
const DISK_FULL = '53100';
/** Statements that write come often enough to find out again. */
const REMEMBERED_MS = 30_000;

/** Tells whether a statement has failed within the last half minute because the disk of the database is full. */
export const watchDiskSpace = (pool: pg.Pool): { isFull: () => boolean } => {
  let failedAt = Number.NEGATIVE_INFINITY;
  const watched = new WeakSet<pg.PoolClient>();
  pool.on('acquire', (client) => {
    if (watched.has(client)) return;
    watched.add(client);
    client.connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code === DISK_FULL) failedAt = performance.now();
    });
  });
  return { isFull: () => performance.now() - failedAt < REMEMBERED_MS };
};

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
