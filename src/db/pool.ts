import pg from 'pg';
import type { Connection } from '../config/connection.ts';
import { beforeDeadline, DeadlineExceeded } from '../lib/deadline.ts';
import { telemetry } from '../lib/telemetry.ts';
import { endWith, tracing } from '../lib/tracing.ts';
import { pooledClientClass } from './pooled-client.ts';
import { sessionOptions } from './session-settings.ts';
import { CONNECT_TIMEOUT_MS, clientClassOf } from './single-client.ts';

const DEFAULT_POOL_SIZE = 10;
/** Until the first TCP keepalive probe. Node then probes once a second, ten times. */
const KEEP_ALIVE_MS = 10_000;
/** By then, connections move to the servers that a name or a proxy leads to. */
const MAX_LIFETIME_SECONDS = 900;
/** For a server that no longer answers: longer than its own `statement_timeout`. */
const QUERY_TIMEOUT_MS = 25_000;

const INT8_OID = 20;
/** `date`, `timestamp`, `interval` and their arrays: kept as text, as MikroORM expects them. */
const TEXT_OIDS = new Set([1082, 1114, 1186, 1182, 1115, 1185, 1187]);

/** The types that Kysely infers: `timestamptz` as `Date`, and `int8` (ids, counts: far below 2⁵³) as number. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8_OID) return Number;
    return TEXT_OIDS.has(oid) ? String : pg.types.getTypeParser(oid, format);
  },
};

/** @param queryLimitMs the time limit of a query; null: none */
export const createPool = (connection: Connection, queryLimitMs: number | null = QUERY_TIMEOUT_MS) =>
  new DatabasePool({
    host: connection.host,
    port: connection.port,
    user: connection.user,
    password: connection.password,
    database: connection.database,
    max: connection.poolSize ?? DEFAULT_POOL_SIZE,
    types,
    // The declared type has no constructor arguments.
    Client: pooledClientClass(clientClassOf(connection), {
      limitMs: queryLimitMs,
      preparesStatements: connection.preparesStatements,
    }) as never,
    onConnect: markIfReadOnly,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    ssl: false,
    application_name: connection.applicationName ?? 'steward',
    connectionTimeoutMillis: connection.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    options: sessionOptions(connection.startupOptions),
  });

/** SQLSTATE disk_full. */
const DISK_FULL = '53100';
/** How long the disk counts as full after a statement has failed: statements that write are frequent. */
const DISK_FULL_MS = 30_000;
/** SQLSTATE read_only_sql_transaction: the server is a standby, or a primary that was demoted or made read-only. */
const READ_ONLY = '25006';
/** The pool's own limit does not include `onConnect`. */
const CHECK_TIMEOUT_MS = 5_000;

type ConnectCallback = Parameters<pg.Pool['connect']>[0];

/** A pool for a server that may fail over, lose connections or run out of disk space. */
export class DatabasePool extends pg.Pool {
  readonly #acquired = new Set<pg.PoolClient>();
  #diskFullAt = Number.NEGATIVE_INFINITY;

  constructor(config: pg.PoolConfig) {
    super(config);
    // Lost connections fail their statements; without a listener, the event would end the process.
    this.on('error', () => {});
    this.on('connect', (client) => this.#watch(client));
    this.on('acquire', (client) => this.#acquired.add(client));
    this.on('release', (_error, client) => {
      this.#acquired.delete(client);
      // The pool removes an ended client. The next connection may lead to the new primary.
      if (readOnlyClients.has(client)) void client.end();
    });
  }

  /** Whether a statement has recently failed because the disk of the database is full. */
  get isDiskFull(): boolean {
    return performance.now() - this.#diskFullAt < DISK_FULL_MS;
  }

  /** @throws DeadlineExceeded if no connection is available before the deadline of the request */
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | undefined {
    const connecting = this.#connectInTime();
    if (!callback) return connecting;
    // `query` of the pool passes a callback. The pool would call it in the context of the request that releases a connection,
    // whose deadline may have passed; here it is called in that of the query.
    connecting.then(
      (client) => callback(undefined, client, client.release),
      (error) => callback(error, undefined, () => {}),
    );
    return undefined;
  }

  async #connectInTime(): Promise<pg.PoolClient> {
    const startedAt = performance.now();
    const span = this.idleCount === 0 ? tracing.start(() => ({ name: 'acquire connection' })) : null;
    const connecting = super.connect();
    try {
      return await endWith(span, beforeDeadline(connecting));
    } catch (error) {
      if (error instanceof DeadlineExceeded)
        connecting.then(
          (client) => client.release(),
          () => {},
        );
      throw error;
    } finally {
      telemetry.connection.publish(() => ({ seconds: (performance.now() - startedAt) / 1000 }));
    }
  }

  #watch(client: pg.PoolClient): void {
    client.once('end', () => this.#releaseLost(client));
    client.once('error', () => this.#discardIdle());
    client.connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code === READ_ONLY) readOnlyClients.add(client);
      if (code === DISK_FULL) this.#diskFullAt = performance.now();
    });
  }

  /**
   * Kysely releases a connection only after a successful commit or rollback. One that is lost in a transaction would occupy
   * a slot of the pool forever, and the pool could not be closed.
   */
  #releaseLost(client: pg.PoolClient): void {
    if (!this.#acquired.has(client)) return;
    client.release(true);
    // Its user may release it too, which would throw.
    client.release = () => undefined;
  }

  /** What has cut one connection, such as a network that drops packets, has probably cut the idle ones too. */
  #discardIdle(): void {
    for (let left = this.idleCount; left > 0; left -= 1)
      this.connect().then(
        (client) => client.release(true),
        () => {},
      );
  }
}

/** Clients of a read-only server, which are used once. */
const readOnlyClients = new WeakSet<pg.ClientBase>();

/**
 * A session that starts read-only can stay so after the server accepts writes again, as with
 * `alter database … set default_transaction_read_only`.
 */
const markIfReadOnly = async (client: pg.ClientBase): Promise<void> => {
  const text = `select current_setting('transaction_read_only')::bool as "isReadOnly"`;
  const query = { text, query_timeout: CHECK_TIMEOUT_MS };
  const { rows } = await client.query<{ isReadOnly: boolean }>(query);
  if (rows[0]?.isReadOnly) readOnlyClients.add(client);
};
