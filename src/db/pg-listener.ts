import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Connection } from '../config/connection.ts';
import { errorCodeOf } from '../lib/errno.ts';
import { createClient } from './single-client.ts';

/** A connection that only listens does not notice that packets no longer arrive, so it is checked. */
const CHECK_MS = 5_000;
const CHECK_TIMEOUT_MS = 3_000;
const RETRY_MS = 1_000;
const CLOSE_TIMEOUT_MS = 1_000;

export type Notifications = {
  close(): Promise<void>;
  /** Whether notifications are heard at the moment. */
  isListening(): boolean;
};

type Options = {
  connection: Connection;
  channel: string;
  /** Called at each notification, and whenever the connection stands anew: something may have been missed. */
  onHeard: () => void;
  warn: (line: string) => void;
  retryMs?: number;
  checkMs?: number;
};

/**
 * Listens on a connection of its own (PostgreSQL's LISTEN), and connects again for as long as it is not closed. Behind a pooler
 * that does not deliver notifications (PgBouncer in transaction mode) it says so once, and listens no more.
 */
export const listenToDatabase = (options: Options): Notifications => {
  const { connection, channel, onHeard, warn, retryMs = RETRY_MS, checkMs = CHECK_MS } = options;
  const closing = new AbortController();
  let isLost = false;
  let isListening = false;
  let hangUp = (): void => {};

  const listenOnce = async (): Promise<typeof NOT_DELIVERED | undefined> => {
    const client = newClient(connection);
    const ended = new Promise<void>((resolve) => {
      // Without a listener a lost connection would end the process on the spot.
      client.on('error', () => resolve());
      client.on('end', resolve);
      hangUp = resolve;
    });
    try {
      await client.connect();
      await client.query(`listen ${client.escapeIdentifier(channel)}`);
      if (!(await isDelivered(client, connection, channel))) return NOT_DELIVERED;
      isLost = false;
      isListening = true;
      // Not before: the check above sends a notification too.
      client.on('notification', onHeard);
      onHeard();
      while (!(await isOver(ended, checkMs))) await client.query('select 1');
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
      if (cause === NOT_DELIVERED) return warn(POOLED);
      if (!isLost) warn(`Notifications of the database are not heard for now (${wordsOf(cause)}).`);
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
      await within(CLOSE_TIMEOUT_MS, listening);
    },
  };
};

const NOT_DELIVERED = Symbol('notifications are not delivered');
const POOLED =
  'The connection pooler does not deliver notifications. New mail is found by polling, every 5 s.';

/** Sent by another session: the listener's own would arrive by whichever session it shares at that moment. */
const isDelivered = async (client: pg.Client, connection: Connection, channel: string): Promise<boolean> => {
  const heard = new Promise<void>((resolve) => {
    client.once('notification', () => resolve());
  });
  const sender = newClient(connection);
  sender.on('error', () => {});
  try {
    await sender.connect();
    await sender.query('select pg_notify($1, $2)', [channel, '']);
    return await isOver(heard, CHECK_TIMEOUT_MS);
  } finally {
    await endSoon(sender);
  }
};

const newClient = (connection: Connection): pg.Client =>
  createClient(connection, 'notifications', { query_timeout: CHECK_TIMEOUT_MS });

/** A server that no longer answers would keep us waiting for its farewell. */
const endSoon = (client: pg.Client): Promise<void> =>
  within(
    CLOSE_TIMEOUT_MS,
    client.end().catch(() => {}),
  );

const isOver = async (work: Promise<void>, ms: number): Promise<boolean> => {
  let isDone = false;
  await within(
    ms,
    work.then(() => {
      isDone = true;
    }),
  );
  return isDone;
};

const within = async (ms: number, work: Promise<void>): Promise<void> => {
  const done = new AbortController();
  await Promise.race([work, pause(ms, undefined, { signal: done.signal }).catch(() => {})]);
  done.abort();
};

/** A host of several addresses fails at all of them, which gives an error without words. */
const wordsOf = (cause: unknown): string =>
  (cause instanceof Error && (cause.message || errorCodeOf(cause))) || 'the connection ended';
