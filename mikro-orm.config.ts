import { Migrator } from '@mikro-orm/migrations';
import { defineConfig } from '@mikro-orm/postgresql';
import pg from 'pg';
import { entities } from './entities/index.ts';
import { migrations } from './migrations/index.ts';
import type { Connection } from './src/config/connection.ts';
import { parseDatabaseUrl } from './src/config/database-url.ts';
import { sessionOptions } from './src/config/session-settings.ts';
import { checkReadOnly } from './src/db/pool.ts';
import { pooledClientClass } from './src/db/pooled-client.ts';
import { CONNECT_TIMEOUT_MS, clientClassOf, settleTls } from './src/db/single-client.ts';

const DEFAULT_POOL_SIZE = 10;
/** Until the first TCP keepalive probe. Node then probes once a second, ten times. */
const KEEP_ALIVE_MS = 10_000;
/** Connections move to the servers that a name or a proxy leads to by then. */
const MAX_LIFETIME_SECONDS = 900;
/** For a server that no longer answers: past its own `statement_timeout`. */
export const QUERY_TIMEOUT_MS = 25_000;

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

/**
 * @param warn gets what the driver has to report, such as a connection that the server dropped
 * @param limitMs the time limit of a query; null: none
 */
export const ormConfig = (
  connection: Connection,
  warn: (line: string) => void = () => {},
  limitMs: number | null = QUERY_TIMEOUT_MS,
) =>
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
      Client: pooledClientClass(clientClassOf(connection), {
        limitMs,
        preparesStatements: connection.preparesStatements,
      }),
      onConnect: checkReadOnly,
      maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
      ssl: false,
      application_name: connection.applicationName ?? 'steward',
      connectionTimeoutMillis: connection.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      options: sessionOptions(connection.startupOptions),
    },
    forceUtcTimezone: true,
    migrations: { migrationsList: migrations, snapshot: false, allOrNothing: false },
    schemaGenerator: { skipTables: [/^usage_(entries|days)_\d/] },
    logger: warn,
    colors: false,
  });

/** For the MikroORM CLI; the service itself asks for a connection of its own. */
export default async () => ormConfig(await settleTls(parseDatabaseUrl(process.env.DATABASE_URL ?? '')));
