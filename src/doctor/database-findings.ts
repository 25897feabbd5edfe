import type pg from 'pg';
import type { Connection } from '../config/connection.ts';
import { DATABASE_TIME } from '../db/database-clock.ts';
import { INSUFFICIENT_PRIVILEGE } from '../db/database-errors.ts';
import { systemClock } from '../lib/clock.ts';
import { errorCodeOf, reasonOf } from '../lib/errno.ts';
import { isLoopback } from '../lib/ip-networks.ts';
import { formatCount } from '../lib/operator-text.ts';
import { failure, ok, type Result, warning } from './finding.ts';

export type DatabaseFacts = {
  /** As in `server_version_num`: 180004. */
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
  /** The precision of the difference between the clocks. */
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
  const sentAt = systemClock.now().getTime();
  const { rows } = await client.query<{ ms: number }>(
    `select (extract(epoch from ${DATABASE_TIME}) * 1000)::float8 as ms`,
  );
  const receivedAt = systemClock.now().getTime();
  return {
    clockAheadMs: (rows[0]?.ms ?? 0) - (sentAt + receivedAt) / 2,
    roundTripMs: receivedAt - sentAt,
  };
};

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

const OLDEST_MAJOR = 14;
const NEWEST_MAJOR = 18;

export const judgeServer = ({ version, isReadOnly, encoding }: DatabaseFacts, server: string): Result[] => {
  const major = Math.floor(version / 10_000);
  const name = `PostgreSQL ${major}.${version % 10_000}`;
  if (major < OLDEST_MAJOR)
    return [failure(`${server} is ${name}, which is too old.`, `Upgrade it to ${OLDEST_MAJOR} or newer.`)];
  return [
    major > NEWEST_MAJOR
      ? warning(
          `${server} is ${name}, which this version was not tested with.`,
          `Use PostgreSQL ${OLDEST_MAJOR} to ${NEWEST_MAJOR}, or a newer Steward.`,
        )
      : ok(`${server} is ${name}.`),
    isReadOnly &&
      failure(
        `${server} refuses writes: it is a standby or set to read-only.`,
        'Name the primary in DATABASE_URL, or what leads to it: see docs/high-availability.md.',
      ),
    encoding !== 'UTF8' &&
      failure(
        `The encoding of the database is ${encoding}.`,
        "Create it with `create database … template template0 encoding 'UTF8'`.",
      ),
  ].filter((finding) => finding !== false);
};

/** @param refusal why PostgreSQL refuses to create a partitioned table; null if it does not refuse */
export const judgePrivileges = (facts: DatabaseFacts, refusal: string | null): Result[] => {
  const { schema, role, foreignTables, canUseSchema, canCreateInSchema, canCreateTemporaryTables } = facts;
  if (schema === null) {
    const action = `Run: create schema authorization ${role}`;
    return [failure(`The role ${role} has no schema in its search_path.`, action)];
  }
  const [first] = foreignTables;
  const findings = [
    (!canUseSchema || !canCreateInSchema || refusal !== null) &&
      failure(
        `The role ${role} cannot create tables in the schema ${schema}${refusal === null ? '' : ` (${refusal})`}.`,
        `Run as its owner: grant usage, create on schema ${schema} to ${role}`,
      ),
    first !== undefined &&
      failure(
        `The role ${role} does not own ${formatCount(foreignTables.length, 'table')} of the service, such as ${first}.`,
        `Run for each as its owner: alter table ${first} owner to ${role}`,
      ),
    !canCreateTemporaryTables &&
      warning(
        `The role ${role} cannot create temporary tables, which \`steward import-django\` needs.`,
        `Run: grant temporary on database … to ${role}`,
      ),
  ].filter((finding) => finding !== false);
  return findings.length > 0 ? findings : [ok(`The role ${role} has all privileges it needs.`)];
};

export const judgeSearch = (facts: DatabaseFacts, isMigrated: boolean): Result => {
  const { hasTrigrams, canInstallTrigrams, hasSearchIndex } = facts;
  const slow = 'a search of users reads the whole table.';
  if (isMigrated && hasSearchIndex) return ok('The search of users has its index.');
  if (!isMigrated && (hasTrigrams || canInstallTrigrams))
    return ok('The extension pg_trgm is available: the first migration creates the search index.');
  if (!hasTrigrams && !canInstallTrigrams)
    return warning(
      `The server does not have the extension pg_trgm: ${slow}`,
      "Install PostgreSQL's contrib modules. Below 10,000 users this is not noticeable.",
    );
  return warning(`The search index is missing: ${slow}`, `Run as superuser: ${SEARCH_INDEX}`);
};

const SEARCH_INDEX =
  "create extension if not exists pg_trgm; create index concurrently users_search on users using gin (lower(email || ' ' || first_name || ' ' || last_name) gin_trgm_ops)";

/** @param connection with the resolved TLS mode */
export const judgeTls = ({ isEncrypted }: DatabaseFacts, { host, tls }: Connection): Result => {
  if (host.startsWith('/')) return ok('The connection is a Unix socket, which needs no TLS.');
  const isLocal = isLoopback(host);
  if (!isEncrypted && isLocal) return ok('The connection is not encrypted, and stays on this machine.');
  if (!isEncrypted)
    return warning(
      `The connection to ${host} is not encrypted.`,
      'Enable TLS on the server, and set sslmode=verify-full and sslrootcert in DATABASE_URL.',
    );
  return isLocal || tls?.mode.startsWith('verify-')
    ? ok(`The connection is encrypted (sslmode=${tls?.mode ?? 'disable'}).`)
    : warning(
        `The connection to ${host} is encrypted, but the identity of the server is not verified.`,
        'Set sslmode=verify-full and sslrootcert in DATABASE_URL.',
      );
};

/** @param needed the number of connections of this instance */
export const judgeConnections = ({ maxConnections }: DatabaseFacts, needed: number): Result => {
  const message = `An instance uses up to ${needed} of the ${maxConnections} connections of the server.`;
  return needed <= maxConnections
    ? ok(message)
    : warning(message, 'Raise max_connections of the server, or lower WORKERS.');
};

/** The service uses the database's clock, but certificates, S3 signatures and logs depend on the local one. */
const MAX_DIFFERENCE_MS = 2_000;

export const judgeClock = ({ clockAheadMs, roundTripMs }: DatabaseFacts): Result => {
  const difference = Math.round(Math.abs(clockAheadMs));
  if (difference <= MAX_DIFFERENCE_MS + roundTripMs)
    return ok(`The clock differs from the database's by ${difference} ms.`);
  const seconds = (difference / 1000).toLocaleString('en', { maximumFractionDigits: 1 });
  return warning(
    `The clock of this machine is ${seconds} s ${clockAheadMs > 0 ? 'behind' : 'ahead of'} the database's.`,
    'Synchronize both with NTP: certificates, S3 requests and log entries use the local clock.',
  );
};

type MigrationLevel = { pending: string[]; unknown: string[] } | null;

export const judgeMigrations = (level: MigrationLevel): Result => {
  if (level === null) return ok('The database is empty: the first start creates the tables.');
  const { pending, unknown } = level;
  if (pending.length > 0 && unknown.length > 0)
    return failure(
      `The database has migration ${unknown[0]}, which this version does not know, and lacks ${pending[0]}.`,
      'Run the version that created the database.',
    );
  if (pending.length > 0)
    return warning(
      `Pending: ${pending.join(', ')}.`,
      'Back up, then run `steward migrate`; a start applies them too.',
    );
  return unknown.length === 0
    ? ok('All migrations are applied.')
    : ok(
        `A newer version applied ${unknown.join(', ')}. The version before it works with that: see docs/upgrades.md.`,
      );
};
