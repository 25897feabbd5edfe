import { Migrator } from '@mikro-orm/migrations';
import { defineConfig } from '@mikro-orm/postgresql';
import pg from 'pg';
import { entities } from './entities/index.ts';
import { migrations } from './migrations/index.ts';
import type { Connection } from './src/core/connection.ts';
import { parseDatabaseUrl } from './src/core/database-url.ts';

const DEFAULT_POOL_SIZE = 10;
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** For a server that no longer answers at all: its own limit cannot end such a wait. */
export const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + CONNECT_TIMEOUT_MS;
/**
 * Of the planner. Its defaults are those of spinning disks and of few, large queries: what is asked here is small, and mostly
 * in memory. It would scan 200 apps for each user rather than find three by their key, compile for longer than it runs, and
 * start workers for lists of which the first page is wanted.
 */
const PLANNING = '-c random_page_cost=1.1 -c jit=off -c max_parallel_workers_per_gather=0';
/** Whoever waits longer for a row holds a connection that others need. */
const LOCK_TIMEOUT_MS = 10_000;

const INT8_OID = 20;
/** `date`, `timestamp`, `interval` and their arrays: kept as text, as MikroORM expects them. */
const TEXT_OIDS = new Set([1082, 1114, 1186, 1182, 1115, 1185, 1187]);

/**
 * What Kysely's inferred types promise, the driver has to deliver: `timestamptz` as `Date` and `int8`
 * (row ids, counts: far below 2⁵³) as number.
 */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8_OID) return Number;
    return TEXT_OIDS.has(oid) ? String : pg.types.getTypeParser(oid, format);
  },
};

/** @param warn gets what the driver has to report, such as a connection that the server dropped */
export const ormConfig = (connection: Connection, warn: (line: string) => void = () => {}) =>
  defineConfig({
    entities,
    extensions: [Migrator],
    host: connection.host,
    port: connection.port,
    user: connection.user,
    password: connection.password,
    dbName: connection.database,
    pool: { min: 0, max: connection.poolSize ?? DEFAULT_POOL_SIZE },
    driverOptions: {
      types,
      application_name: 'steward',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      // Every date that SQL computes (days of usage, months of partitions) is a UTC date.
      options: `-c TimeZone=UTC -c lock_timeout=${LOCK_TIMEOUT_MS} ${PLANNING}`,
    },
    forceUtcTimezone: true,
    migrations: { migrationsList: migrations, snapshot: false, allOrNothing: false },
    schemaGenerator: { skipTables: [/^usage_(entries|days)_\d/] },
    logger: warn,
    colors: false,
  });

/** For the MikroORM CLI; the service itself asks for a connection of its own. */
export default () => ormConfig(parseDatabaseUrl(process.env.DATABASE_URL ?? ''));
