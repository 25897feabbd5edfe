import type pg from 'pg';

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
