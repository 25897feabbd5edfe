import pg from 'pg';
import type { Connection } from '../config/connection.ts';
import { errorCodeOf } from '../lib/errno.ts';
import { CannotConnect, ServerClient } from './server-client.ts';
import { createServerSearch, type Probe } from './servers.ts';

export const CONNECT_TIMEOUT_MS = 5_000;
/** SQLSTATE invalid_password. */
const WRONG_PASSWORD = '28P01';

export const UNLIMITED = '-c statement_timeout=0 -c lock_timeout=0';

export type ClientClass = new (config: pg.ClientConfig) => pg.Client;

/**
 * The class of the clients for a connection, also for `pg.Pool`. `pg` itself has one host and no `target_session_attrs`: where
 * these are used, each client first finds the server to connect to.
 */
export const clientClassOf = (connection: Connection): ClientClass => {
  const { tls, fallbackHosts, targetSession } = connection;
  const find =
    fallbackHosts || targetSession
      ? createServerSearch(connection, timeoutOf(connection), createProbe(connection))
      : async () => ({ ...connection, address: connection.host });
  if (!tls && !fallbackHosts && !targetSession) return pg.Client;
  return class extends ServerClient {
    constructor(config: pg.ClientConfig) {
      super(config, connection, find);
    }
  };
};

/** Creates a client, not yet connected. The server shows `purpose` in the name of its session. */
export const createClient = (
  connection: Connection,
  purpose: string,
  config: pg.ClientConfig = {},
): pg.Client => {
  const Client = clientClassOf(connection);
  const client = new Client({ ...clientConfigOf(connection, purpose), ...config });
  // A lost connection fails its statements; without a listener, the event would end the process.
  client.on('error', () => {});
  return client;
};

/** A session without time limits for background work, by default also for waiting for locks (0). */
export const openUnlimitedSession = async (connection: Connection, lockTimeoutMs = 0): Promise<pg.Client> => {
  const options = [connection.startupOptions ?? '', UNLIMITED, `-c lock_timeout=${lockTimeoutMs}`]
    .join(' ')
    .trim();
  const client = createClient(connection, 'housekeeping', { options });
  await client.connect();
  return client;
};

const timeoutOf = ({ connectTimeoutMs = CONNECT_TIMEOUT_MS }: Connection): number => connectTimeoutMs;

const clientConfigOf = (connection: Connection, purpose: string): pg.ClientConfig => ({
  host: connection.host,
  port: connection.port,
  user: connection.user,
  password: connection.password,
  database: connection.database,
  ssl: false,
  application_name: `${connection.applicationName ?? 'steward'} ${purpose}`,
  connectionTimeoutMillis: timeoutOf(connection),
  ...(connection.startupOptions && { options: connection.startupOptions }),
});

const createProbe =
  (connection: Connection): Probe =>
  async (server, signal) => {
    const client = new ServerClient(clientConfigOf(connection, 'probe'), connection, async () => server);
    const cut = () => client.connection.stream.destroy();
    signal.addEventListener('abort', cut, { once: true });
    try {
      await client.connect();
      void client.end();
    } catch (cause) {
      throw new CannotConnect(`${server.host}:${server.port}`, cause);
    } finally {
      signal.removeEventListener('abort', cut);
    }
  };

/**
 * Decides once whether `sslmode=prefer` uses TLS: the service must not fall back to clear text later.
 * @throws Error of `pg` if the server refuses both
 */
export const resolveTlsMode = async (connection: Connection): Promise<Connection> => {
  if (connection.tls?.mode !== 'prefer') return connection;
  const encrypted: Connection = { ...connection, tls: { mode: 'require' } };
  const { tls: _none, ...clear } = connection;
  try {
    await logIn(encrypted);
    return encrypted;
  } catch (error) {
    if (errorCodeOf(error) === WRONG_PASSWORD) throw error;
    await logIn(clear);
    return clear;
  }
};

const logIn = async (connection: Connection): Promise<void> => {
  const client = createClient(connection, 'probe');
  await client.connect();
  await client.end();
};
