import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, getCACertificates } from 'node:tls';
import pg from 'pg';
import type { Connection, DatabaseTls } from '../config/connection.ts';
import { reasonOf } from '../lib/errno.ts';
import type { Server } from './servers.ts';

type Callback = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** No connection could be made; the message has the reason of each attempt. */
export class CannotConnect extends Error {
  /** SQLSTATE sqlclient_unable_to_establish_sqlconnection. */
  readonly code = '08001';

  constructor(server: string | null, cause: unknown) {
    const reason = reasonOf(cause);
    super(server === null ? reason : `${server}: ${reason}`, { cause });
    this.name = 'CannotConnect';
  }
}

/** Chooses its server when it connects, uses TLS as libpq does, and checks that the server has the right role. */
export class ServerClient extends pg.Client {
  readonly #connection: Connection;
  readonly #find: () => Promise<Server>;
  /** Completed before each attempt to connect. */
  readonly #tlsOptions: ConnectionOptions;

  constructor(config: pg.ClientConfig, connection: Connection, find: () => Promise<Server>) {
    const tlsOptions: ConnectionOptions = {};
    // The pool keeps the password in a property that is not enumerable.
    super({ ...config, password: connection.password, ssl: connection.tls ? tlsOptions : false });
    this.#connection = connection;
    this.#find = find;
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
      const { host, address, port } = await this.#find();
      this.host = address;
      this.port = port;
      const { tls } = this.#connection;
      if (tls) Object.assign(this.#tlsOptions, await tlsOptionsOf(tls, host));
      await super.connect();
    } catch (error) {
      throw isOfServer(error) || error instanceof CannotConnect ? error : new CannotConnect(null, error);
    }
    await this.#requireTarget();
    return this;
  }

  async #requireTarget(): Promise<void> {
    const { targetSession } = this.#connection;
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
