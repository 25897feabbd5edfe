import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Connection } from '../config/connection.ts';
import { reasonOf } from '../lib/errno.ts';
import { createClient } from './client.ts';
import { LISTENERS } from './notifications.ts';

/** Interval of check queries: a connection that only listens does not notice a broken network. */
const CHECK_MS = 5_000;
const CHECK_TIMEOUT_MS = 3_000;
const RETRY_MS = 1_000;
const CLOSE_TIMEOUT_MS = 1_000;

export type Notifications = {
  close(): Promise<void>;
  /** Whether notifications arrive now. */
  isListening(): boolean;
};

type Options = {
  connection: Connection;
  channel: string;
  /** Called on each notification and after each connect, because notifications may have been missed meanwhile. */
  onHeard: () => void;
  warn: (line: string) => void;
  /** What the service does instead behind a pooler that does not deliver notifications. */
  fallback: string;
  retryMs?: number;
  /** How long a pooler may take to deliver a notification. */
  deliveryMs?: number;
};

/**
 * Listens on a separate connection (PostgreSQL's LISTEN), and reconnects until it is closed. Behind a pooler that does not
 * deliver notifications (PgBouncer in transaction mode), it warns once and stops.
 */
export const listenToDatabase = (options: Options): Notifications => {
  const { connection, channel, onHeard, warn, fallback } = options;
  const { retryMs = RETRY_MS, deliveryMs = CHECK_TIMEOUT_MS } = options;
  const closing = new AbortController();
  let isLost = false;
  let isListening = false;
  let hangUp = (): void => {};

  const listenOnce = async (): Promise<typeof NOT_DELIVERED | undefined> => {
    const client = newClient(connection);
    const ended = new Promise<void>((resolve) => {
      client.on('error', () => resolve());
      client.on('end', resolve);
      hangUp = resolve;
    });
    try {
      await client.connect();
      await client.query(`listen ${client.escapeIdentifier(channel)}`);
      if (!(await isDelivered(client, { connection, channel, deliveryMs }))) return NOT_DELIVERED;
      await client.query('select pg_advisory_lock_shared($1, hashtext($2))', [LISTENERS, channel]);
      isLost = false;
      isListening = true;
      // Not earlier, because the check above sends a notification too.
      client.on('notification', onHeard);
      onHeard();
      while (!(await endsWithin(CHECK_MS, ended))) await client.query('select 1');
      return undefined;
    } finally {
      isListening = false;
      await endSoon(client);
    }
  };

  const listen = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      const cause: unknown = await listenOnce().catch((error: unknown) => error);
      if (closing.signal.aborted) return;
      if (cause === NOT_DELIVERED)
        return warn(`The connection pooler does not deliver notifications. ${fallback}`);
      if (!isLost)
        warn(
          `Notifications of the database do not arrive for now (${cause === undefined ? 'the connection ended' : reasonOf(cause)}).`,
        );
      isLost = true;
      await pause(retryMs, undefined, { signal: closing.signal, ref: false }).catch(() => {});
    }
  };
  const listening = listen();

  return {
    isListening: () => isListening,
    close: async () => {
      closing.abort();
      hangUp();
      await endsWithin(CLOSE_TIMEOUT_MS, listening);
    },
  };
};

const NOT_DELIVERED = Symbol('notifications are not delivered');

type Check = Pick<Options, 'connection' | 'channel'> & { deliveryMs: number };

/** Sends from another session: a pooler would deliver the listener's own notification by the session that it happens to use. */
const isDelivered = async (
  client: pg.Client,
  { connection, channel, deliveryMs }: Check,
): Promise<boolean> => {
  let isHeard = false;
  const heard = new Promise<void>((resolve) => {
    client.once('notification', () => {
      isHeard = true;
      resolve();
    });
  });
  const sender = newClient(connection);
  try {
    await sender.connect();
    await sender.query('select pg_notify($1, $2)', [channel, '']);
    if (await endsWithin(deliveryMs, heard)) return true;
    // If this process was suspended, it may have an unread notification. PostgreSQL sends it before it is ready for another query.
    await client.query('select 1');
    return isHeard;
  } finally {
    await endSoon(sender);
  }
};

const newClient = (connection: Connection): pg.Client =>
  createClient(connection, 'notifications', { query_timeout: CHECK_TIMEOUT_MS });

/** A server that no longer responds does not confirm the end, either. */
const endSoon = (client: pg.Client): Promise<boolean> =>
  endsWithin(
    CLOSE_TIMEOUT_MS,
    client.end().catch(() => {}),
  );

const endsWithin = (ms: number, work: Promise<unknown>): Promise<boolean> => {
  const done = new AbortController();
  const timeout = pause(ms, false, { signal: done.signal }).catch(() => false);
  return Promise.race([work.then(() => true), timeout]).finally(() => done.abort());
};
