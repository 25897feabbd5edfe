import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, getCACertificates } from 'node:tls';
import pg from 'pg';
import type { Connection, DatabaseTls } from '../config/connection.ts';
import { errorCodeOf, reasonOf } from '../lib/errno.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** SQLSTATE invalid_password. */
const WRONG_PASSWORD = '28P01';

/** Creates a client, not yet connected. The server shows `purpose` in the name of its session. */
export const createClient = (
  connection: Connection,
  purpose: string,
  config: { query_timeout?: number } = {},
): pg.Client => new ServerClient({ ...clientConfigOf(connection, purpose), ...config });

/** A connection whose statements have no time limit. @param lockTimeoutMs 0: no limit either */
export const withoutLimits = (connection: Connection, lockTimeoutMs: number): Connection => ({
  ...connection,
  startupOptions: `${connection.startupOptions ?? ''} -c statement_timeout=0 -c lock_timeout=${lockTimeoutMs}`,
});

/** Connects a client, which is closed at the end of the scope that uses it. */
export const openClient = async (connection: Connection, purpose: string) => {
  const client = createClient(connection, purpose);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
};

/** A session without time limits for background work. */
export const openUnlimitedSession = (connection: Connection, lockTimeoutMs = 0) =>
  openClient(withoutLimits(connection, lockTimeoutMs), 'housekeeping');

/**
 * Decides once whether `sslmode=prefer` uses TLS: the service must not fall back to clear text later.
 * @throws Error of `pg` if the server refuses both
 */
export const resolveTlsMode = async (connection: Connection): Promise<Connection> => {
  if (connection.tls?.mode !== 'prefer') return connection;
  const encrypted: Connection = { ...connection, tls: { mode: 'require' } };
  const { tls: _none, ...clear } = connection;
  try {
    await using _loggedIn = await openClient(encrypted, 'probe');
    return encrypted;
  } catch (error) {
    if (errorCodeOf(error) === WRONG_PASSWORD) throw error;
    await using _loggedIn = await openClient(clear, 'probe');
    return clear;
  }
};

/**
 * Takes an advisory lock until it is disposed of, or the process ends. The lock belongs to a transaction on a connection of
 * its own: behind a pooler, a session-level lock would outlive the client.
 * @param key an arbitrary number that all instances share
 * @returns null if another process has the lock
 */
export const tryAdvisoryLock = async (
  connection: Connection,
  purpose: string,
  key: number,
): Promise<AsyncDisposable | null> => {
  await using opened = new AsyncDisposableStack();
  const client = opened.use(await openClient(connection, purpose));
  await client.query('begin');
  await client.query('set local idle_in_transaction_session_timeout = 0');
  const { rows } = await client.query('select pg_try_advisory_xact_lock($1) as "isHeld"', [key]);
  return rows[0]?.isHeld === true ? opened.move() : null;
};

/** The server shows `purpose` in the name of the session. */
export const clientConfigOf = (connection: Connection, purpose = ''): pg.ClientConfig & Connection => ({
  ...connection,
  application_name: `${connection.applicationName ?? 'steward'} ${purpose}`.trim(),
  connectionTimeoutMillis: connection.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
  options: connection.startupOptions,
});

type Callback = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** No connection could be made. */
class CannotConnect extends Error {
  override readonly name = 'CannotConnect';
  /** SQLSTATE sqlclient_unable_to_establish_sqlconnection. */
  readonly code = '08001';

  constructor(cause: unknown) {
    super(reasonOf(cause), { cause });
  }
}

/** Uses TLS as libpq does. Reads the files when it connects. */
export class ServerClient extends pg.Client {
  readonly #connection: Connection;
  /** Filled before `pg` connects. */
  readonly #tlsOptions: ConnectionOptions;

  constructor(config: pg.ClientConfig & Connection) {
    const tlsOptions: ConnectionOptions = {};
    // The pool keeps the password in a property that is not enumerable.
    super({ ...config, password: config.password, ssl: config.tls ? tlsOptions : false });
    this.#connection = config;
    this.#tlsOptions = tlsOptions;
    // A lost connection fails its statements; without a listener, the event would end the process.
    this.on('error', () => {});
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.Client> | undefined {
    const connected = this.#connect();
    if (!callback) return connected;
    const report = callback as (error: Error | null, client?: pg.Client) => void; // either of its forms
    connected.then((client) => report(null, client), report);
    return undefined;
  }

  async #connect(): Promise<pg.Client> {
    try {
      const { tls, host } = this.#connection;
      if (tls) Object.assign(this.#tlsOptions, await tlsOptionsOf(tls, host));
      return await super.connect();
    } catch (error) {
      throw isOfServer(error) ? error : new CannotConnect(error);
    }
  }
}

const isOfServer = (error: unknown): boolean => error instanceof Error && 'severity' in error;

/** The TLS options of a connection to `host`. Reads the files for each connection, so that renewed certificates are used. */
const tlsOptionsOf = async (
  { mode, rootCertificate, client }: DatabaseTls,
  host: string,
): Promise<ConnectionOptions> => {
  const [ca, cert, key] = await Promise.all([
    rootCertificate === 'system' ? getCACertificates('system') : readIfNamed(rootCertificate),
    readIfNamed(client?.certificate),
    readIfNamed(client?.key),
  ]);
  return {
    rejectUnauthorized: mode.startsWith('verify'),
    // The name is set here, because `pg` passes none on if the host is an address.
    checkServerIdentity: (_name, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca && { ca }),
    ...(cert && key && { cert, key }),
  };
};

const readIfNamed = async (path: string | undefined): Promise<string | undefined> =>
  path === undefined ? undefined : readFile(path, 'utf8');
