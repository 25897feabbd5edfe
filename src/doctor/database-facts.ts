import type pg from 'pg';
import { errorCodeOf, reasonOf } from '../lib/errno.ts';

export type DatabaseFacts = {
  /** As `server_version_num`: 180004. */
  version: number;
  role: string;
  isReadOnly: boolean;
  encoding: string;
  /** Connections that are not reserved for superusers. */
  maxConnections: number;
  schema: string | null;
  canUseSchema: boolean;
  canCreateInSchema: boolean;
  canCreateTemporaryTables: boolean;
  /** Tables of the service that belong to a role whose rights this one does not have. */
  foreignTables: string[];
  hasTrigrams: boolean;
  canInstallTrigrams: boolean;
  hasSearchIndex: boolean;
  isEncrypted: boolean;
  /** Milliseconds by which the database's clock is ahead. */
  clockAheadMs: number;
  /** The difference of the clocks is known up to this. */
  roundTripMs: number;
};

/** @param tables names of the service's tables */
export const readDatabaseFacts = async (client: pg.ClientBase, tables: readonly string[]) => {
  const { rows } = await client.query<Omit<DatabaseFacts, 'clockAheadMs' | 'roundTripMs'>>(FACTS, [tables]);
  const [facts] = rows;
  if (!facts) throw new Error('The database returned no row.');
  return { ...facts, ...(await compareClocks(client)) };
};

const FACTS = `
  select
    current_setting('server_version_num')::int as version,
    current_user::text as role,
    current_setting('transaction_read_only')::bool as "isReadOnly",
    (select pg_encoding_to_char(encoding) from pg_database where datname = current_database()) as encoding,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      as "maxConnections",
    current_schema()::text as schema,
    coalesce(has_schema_privilege(current_schema(), 'USAGE'), false) as "canUseSchema",
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) as "canCreateInSchema",
    has_database_privilege(current_database(), 'TEMPORARY') as "canCreateTemporaryTables",
    array(
      select relname::text from pg_class
      join pg_namespace on pg_namespace.oid = relnamespace
      where nspname = current_schema() and relname = any($1) and not pg_has_role(relowner, 'USAGE')
      order by relname
    ) as "foreignTables",
    exists (select from pg_extension where extname = 'pg_trgm') as "hasTrigrams",
    exists (select from pg_available_extensions where name = 'pg_trgm') as "canInstallTrigrams",
    to_regclass('users_search') is not null as "hasSearchIndex",
    coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as "isEncrypted"`;

const compareClocks = async (client: pg.ClientBase) => {
  const sentAt = Date.now();
  const { rows } = await client.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  const receivedAt = Date.now();
  return {
    clockAheadMs: (rows[0]?.ms ?? 0) - (sentAt + receivedAt) / 2,
    roundTripMs: receivedAt - sentAt,
  };
};

/** SQLSTATE insufficient_privilege. */
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Creates a partitioned table and a partition, as migrations and the hourly maintenance do, and rolls back.
 * @returns null, or why PostgreSQL refuses it
 */
export const tryCreatePartition = async (client: pg.ClientBase): Promise<string | null> => {
  await client.query('begin');
  try {
    await client.query('create table steward_doctor (at date) partition by range (at)');
    await client.query(
      `create table steward_doctor_2000 partition of steward_doctor for values from ('2000-01-01') to ('2001-01-01')`,
    );
    return null;
  } catch (error) {
    if (errorCodeOf(error) === INSUFFICIENT_PRIVILEGE) return reasonOf(error);
    throw error;
  } finally {
    await client.query('rollback');
  }
};
