import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, checkServerIdentity, getCACertificates } from 'node:tls';
import pg from 'pg';
import type { Connection, DatabaseTls, HostAddress } from '../config/connection.ts';
import { causeInWords, errorCodeOf, reasonOf } from '../lib/errno.ts';

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

const timeoutOf = ({ connectTimeoutMs = CONNECT_TIMEOUT_MS }: Connection): number => connectTimeoutMs;

/** What a client needs to know. The clients of a pool share the search for their server. */
type ServerConfig = pg.ClientConfig & Connection & { find: () => Promise<Server> };

/** The server shows `purpose` in the name of the session. */
export const clientConfigOf = (connection: Connection, purpose = ''): ServerConfig => ({
  ...connection,
  find: createServerSearch(connection, timeoutOf(connection), createProbe(connection)),
  application_name: `${connection.applicationName ?? 'steward'} ${purpose}`.trim(),
  connectionTimeoutMillis: timeoutOf(connection),
  options: connection.startupOptions,
});

const createProbe =
  (connection: Connection): Probe =>
  async (server, signal) => {
    const socket = new Socket();
    const config = { ...clientConfigOf(connection, 'probe'), stream: () => socket };
    const client = new ServerClient({ ...config, find: async () => server });
    const cut = () => socket.destroy();
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

type Callback = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** No connection could be made; the message has the reason of each attempt. */
class CannotConnect extends Error {
  /** SQLSTATE sqlclient_unable_to_establish_sqlconnection. */
  readonly code = '08001';

  constructor(server: string | null, cause: unknown) {
    super(server === null ? reasonOf(cause) : `${server}: ${causeInWords(cause) ?? reasonOf(cause)}`, {
      cause,
    });
    this.name = 'CannotConnect';
  }
}

/**
 * Chooses its server when it connects, uses TLS as libpq does, and checks that the server has the right role: `pg` itself has one
 * host and no `target_session_attrs`.
 */
export class ServerClient extends pg.Client {
  readonly #config: ServerConfig;
  /** Filled before `pg` connects: it depends on the server. */
  readonly #tlsOptions: ConnectionOptions;

  constructor(config: ServerConfig) {
    const tlsOptions: ConnectionOptions = {};
    // The pool keeps the password in a property that is not enumerable.
    super({ ...config, password: config.password, ssl: config.tls ? tlsOptions : false });
    this.#config = config;
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
      const { tls, find } = this.#config;
      const { host, address, port } = await find();
      this.host = address;
      this.port = port;
      if (tls) Object.assign(this.#tlsOptions, await tlsOptionsOf(tls, host));
      await super.connect();
    } catch (error) {
      throw isOfServer(error) || error instanceof CannotConnect ? error : new CannotConnect(null, error);
    }
    await this.#requireTarget();
    return this;
  }

  async #requireTarget(): Promise<void> {
    const { targetSession } = this.#config;
    if (!targetSession) return;
    const setting = targetSession === 'primary' ? 'in_hot_standby' : 'transaction_read_only';
    const { rows } = await this.query(`select current_setting('${setting}')::bool as "isRefused"`);
    if (!rows[0]?.isRefused) return;
    void this.end();
    throw new CannotConnect(
      null,
      new Error(`the server is ${targetSession === 'primary' ? 'a standby' : 'read-only'}`),
    );
  }
}

const isOfServer = (error: unknown): boolean => error instanceof Error && 'severity' in error;

/** The TLS options of a connection to `host`. Files are read for each, so that renewed certificates are used. */
export const tlsOptionsOf = async (
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
    // Named here, since the driver knows the address, or no name at all.
    checkServerIdentity: (_name, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca && { ca }),
    ...(cert && key && { cert, key }),
  };
};

const readIfNamed = async (path: string | undefined): Promise<string | undefined> =>
  path === undefined ? undefined : readFile(path, 'utf8');

/** One address of a host. */
type Server = HostAddress & { address: string };

/** Proves that a server can be used. The signal says that the search has ended. */
type Probe = (server: Server, signal: AbortSignal) => Promise<void>;

const STAGGER_MS = 500;

/**
 * Finds the server to use among the addresses of all hosts, in their order. Where only one server can be right, the host that
 * was right the last time is tried first. Connections that are opened at the same time share a search.
 */
const createServerSearch = (connection: Connection, timeoutMs: number, probe: Probe) => {
  const hosts = [connection, ...(connection.fallbackHosts ?? [])];
  if (hosts.length === 1 && !connection.targetSession)
    return async (): Promise<Server> => ({ ...connection, address: connection.host });
  let last: Server | undefined;
  let search: Promise<Server> | undefined;

  const isLast = ({ host, port }: HostAddress) => host === last?.host && port === last.port;

  const searchHost = async (host: HostAddress, signal: AbortSignal): Promise<Server> => {
    const servers = await addressesOf(host, timeoutMs);
    const attempt = (server: Server, ended: AbortSignal) => probe(server, ended).then(() => server);
    return firstSuccess(servers, attempt, { staggerMs: STAGGER_MS, signal });
  };
  const run = async (): Promise<Server> => {
    const ordered = connection.targetSession
      ? hosts.toSorted((a, b) => Number(isLast(b)) - Number(isLast(a)))
      : hosts;
    last = await firstSuccess(ordered, searchHost, { staggerMs: STAGGER_MS });
    return last;
  };
  return (): Promise<Server> => {
    search ??= run().finally(() => {
      search = undefined;
    });
    return search;
  };
};

const addressesOf = async ({ host, port }: HostAddress, timeoutMs: number): Promise<Server[]> => {
  if (host.startsWith('/') || isIP(host) !== 0) return [{ host, port, address: host }];
  const timeout = sleep(timeoutMs, undefined, { ref: false }).then(() => {
    throw new Error(`no address of ${host} was found in time`);
  });
  const addresses = await Promise.race([lookup(host, { all: true }), timeout]);
  return addresses.map(({ address }) => ({ host, port, address }));
};

/**
 * Resolves with the first success. Attempts start in the order of the items, each when the one before has failed or has taken
 * `staggerMs`, as in Happy Eyeballs (RFC 8305). A success aborts the signal of the others.
 * @throws AggregateError of all failures
 */
export const firstSuccess = async <Item, Result>(
  items: readonly Item[],
  attempt: (item: Item, signal: AbortSignal) => Promise<Result>,
  { staggerMs, signal }: { staggerMs: number; signal?: AbortSignal },
): Promise<Result> => {
  const done = new AbortController();
  const stopSignal = signal ? AbortSignal.any([done.signal, signal]) : done.signal;
  let ready: Promise<unknown> = Promise.resolve();
  const attempts = items.map((item) => {
    const result = ready.then(async () => {
      stopSignal.throwIfAborted();
      const value = await attempt(item, stopSignal);
      done.abort();
      return value;
    });
    const slow = ready.then(() => sleep(staggerMs, undefined, { signal: stopSignal }));
    ready = Promise.race([result, slow]).catch(() => {});
    return result;
  });
  return Promise.any(attempts).finally(() => done.abort());
};
