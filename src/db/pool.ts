import { AsyncResource } from 'node:async_hooks';
import pg from 'pg';
import type { Connection } from '../config/connection.ts';
import { errorCodeOf } from '../lib/errno.ts';
import { parseJson } from '../lib/exact-json.ts';
import { telemetry } from '../lib/telemetry.ts';
import { endWith, tracing } from '../lib/tracing.ts';
import { clientConfigOf } from './client.ts';
import { isOutage, READ_ONLY } from './database-errors.ts';
import { pooledClientClass, QUERY_FAILED, QUERY_SENT } from './pooled-client.ts';

const DEFAULT_POOL_SIZE = 10;
/** Idle time before the first TCP keepalive probe. Node then probes once a second, ten times. */
const KEEP_ALIVE_MS = 10_000;
/** Connections are replaced after this time, so that they follow a change of DNS or of a proxy. */
const MAX_LIFETIME_SECONDS = 900;
/** For a server that no longer answers, so longer than its own `statement_timeout`. `pg` then closes the connection. */
const QUERY_TIMEOUT_MS = 14_000;

const INT8_OID = 20;
const JSON_OIDS = new Set([114, 3802]);
/** `date`, `timestamp`, `interval` and their arrays: kept as text, as MikroORM expects them. */
const TEXT_OIDS = new Set([1082, 1114, 1186, 1182, 1115, 1185, 1187]);

/** As Kysely infers them: `timestamptz` as `Date`, and `int8` (ids, counts: far below 2⁵³) as number. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8_OID) return Number;
    if (JSON_OIDS.has(oid)) return parseJson;
    return TEXT_OIDS.has(oid) ? String : pg.types.getTypeParser(oid, format);
  },
};

/** @param queryLimitMs the time limit of a query; null: none */
export const createPool = (connection: Connection, queryLimitMs: number | null = QUERY_TIMEOUT_MS) =>
  new DatabasePool({
    ...clientConfigOf(connection),
    max: connection.poolSize ?? DEFAULT_POOL_SIZE,
    types,
    // The declared type has no constructor arguments.
    Client: pooledClientClass(connection) as never,
    onConnect: markIfReadOnly,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    pipeline: true,
    ...(queryLimitMs !== null && { query_timeout: queryLimitMs }),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    options: sessionOptions(connection.startupOptions),
  });

/** The pool's own limit does not include `onConnect`. */
const CHECK_TIMEOUT_MS = 5_000;
/** Far longer than any statement may take. */
const STUCK_MS = 60_000;

/** A pool for a server that may fail over or lose connections. */
export class DatabasePool extends pg.Pool {
  readonly #acquired = new Set<pg.PoolClient>();
  #isOutageKnown = false;
  /** From `performance.now()`. */
  #usedAt = 0;

  constructor(config: pg.PoolConfig) {
    super(config);
    // Lost connections fail their statements; without a listener, the event would end the process.
    this.on('error', () => {});
    this.on('connect', (client) => this.#watch(client));
    this.on('acquire', (client) => {
      this.#acquired.add(client);
      this.#noteUse();
    });
    this.on('release', (_error, client) => {
      this.#acquired.delete(client);
      this.#noteUse();
      // The pool removes an ended client. The next connection may lead to the new primary.
      if (readOnlyClients.has(client)) void client.end();
    });
  }

  /** Whether all connections are taken although none is used, for example because code forgets to release them. Only a restart helps. */
  isStuck(stuckMs = STUCK_MS, at = performance.now()): boolean {
    const isTaken = this.idleCount === 0 && this.totalCount >= this.options.max;
    return isTaken && at - this.#usedAt > stuckMs;
  }

  /** Whether a failure belongs to an outage that was already reported. The first new connection that accepts writes ends an outage. */
  isRepeatedOutage(error: unknown): boolean {
    if (!isOutage(error)) return false;
    const isKnown = this.#isOutageKnown;
    this.#isOutageKnown = true;
    return isKnown;
  }

  /** Measures how long callers wait for a connection. */
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Parameters<pg.Pool['connect']>[0]): void;
  override connect(callback?: Parameters<pg.Pool['connect']>[0]): Promise<pg.PoolClient> | undefined {
    // `query` of the pool passes a callback. It is bound, so that it stays in the trace of its caller, not in the trace of the caller who
    // releases a connection.
    if (callback) super.connect(AsyncResource.bind(callback));
    return callback ? undefined : this.#connectMeasured();
  }

  async #connectMeasured(): Promise<pg.PoolClient> {
    const startedAt = performance.now();
    const span = this.idleCount === 0 ? tracing.start(() => ({ name: 'acquire connection' })) : null;
    const client = await endWith(span, super.connect());
    if (this.ending) {
      // Kysely would lose the client, and the pool could not be closed.
      client.release(true);
      throw new Error('Connection terminated: the pool is closing');
    }
    telemetry.connection.publish(() => ({ seconds: (performance.now() - startedAt) / 1000 }));
    return client;
  }

  #noteUse(): void {
    this.#usedAt = performance.now();
  }

  #watch(client: pg.PoolClient): void {
    if (!readOnlyClients.has(client)) this.#isOutageKnown = false;
    const events: NodeJS.EventEmitter = client;
    events.once('end', () => this.#releaseLost(client));
    events.on(QUERY_SENT, () => this.#noteUse());
    events.on(QUERY_FAILED, (error: unknown) => {
      if (errorCodeOf(error) === READ_ONLY) readOnlyClients.add(client);
    });
  }

  /**
   * Kysely releases a connection only after a successful commit or rollback. A connection that is lost in a transaction would occupy a slot
   * of the pool forever, and the pool could not be closed.
   */
  #releaseLost(client: pg.PoolClient): void {
    if (!this.#acquired.has(client)) return;
    client.release(true);
    // Its user may release it as well, which would throw.
    client.release = () => undefined;
  }
}

/** Clients of a read-only server: each is used once. */
const readOnlyClients = new WeakSet<pg.ClientBase>();

/**
 * A session that starts read-only can stay read-only after the server accepts writes again, as with `alter database … set
 * default_transaction_read_only`.
 */
const markIfReadOnly = async (client: pg.ClientBase): Promise<void> => {
  const text = `select current_setting('transaction_read_only')::bool as "isReadOnly"`;
  const query = { text, query_timeout: CHECK_TIMEOUT_MS };
  const { rows } = await client.query<{ isReadOnly: boolean }>(query);
  if (rows[0]?.isReadOnly) readOnlyClients.add(client);
};

/**
 * PostgreSQL settings of every pooled session, sent as startup options. The planner's defaults suit spinning disks and large analytical
 * queries: PostgreSQL would scan 200 apps for each user instead of fetching three by key, compile for longer than the query runs, and start
 * workers for one page of a list.
 */
const SESSION_SETTINGS: Readonly<Record<string, string>> = {
  // A call answers 503 after 10 s. Its statements end soon after, because they hold a connection that others need. Waits for locks end
  // before, so that the caller gets their error.
  lock_timeout: '8s',
  statement_timeout: '12s',
  // An instance that hangs within a transaction holds locks that all other instances wait for.
  idle_in_transaction_session_timeout: '15s',
  // The server ends sessions whose client is unreachable, and releases their locks. Unix sockets ignore these.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '20s',
  random_page_cost: '1.1',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
};

/** The startup parameter `options`. The last value of a setting wins: the operator's, except for UTC, which all dates in SQL need. */
const sessionOptions = (operatorOptions = ''): string =>
  [
    ...Object.entries(SESSION_SETTINGS).map(([name, value]) => `-c ${name}=${value}`),
    operatorOptions,
    '-c TimeZone=UTC',
  ]
    .filter(Boolean)
    .join(' ');
