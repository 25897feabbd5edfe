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
