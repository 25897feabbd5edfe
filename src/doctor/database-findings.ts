import type pg from 'pg';
import type { Connection } from '../config/connection.ts';
import { isLoopback } from '../lib/ip-networks.ts';
import { formatCount } from '../lib/operator-text.ts';
import { failure, ok, type Result, warning } from './finding.ts';

export type DatabaseFacts = {
  /** As in `server_version_num`: 180004. */
  version: number;
  role: string;
  encoding: string;
  /** Connections that are not reserved for superusers. */
  maxConnections: number;
  schema: string | null;
  canUseSchema: boolean;
  canCreateInSchema: boolean;
  /** Tables of the service that belong to a role whose rights this one does not have. */
  foreignTables: string[];
  hasTrigrams: boolean;
  canInstallTrigrams: boolean;
  hasSearchIndex: boolean;
  isEncrypted: boolean;
};

/** @param tables names of the service's tables */
export const readDatabaseFacts = async (client: pg.ClientBase, tables: readonly string[]) => {
  const { rows } = await client.query<DatabaseFacts>(FACTS, [tables]);
  const [facts] = rows;
  if (!facts) throw new Error('The database returned no row.');
  return facts;
};

const FACTS = `
  select
    current_setting('server_version_num')::int as version,
    current_user::text as role,
    (select pg_encoding_to_char(encoding) from pg_database where datname = current_database()) as encoding,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      as "maxConnections",
    current_schema()::text as schema,
    coalesce(has_schema_privilege(current_schema(), 'USAGE'), false) as "canUseSchema",
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) as "canCreateInSchema",
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

const OLDEST_MAJOR = 14;
const NEWEST_MAJOR = 18;

export const judgeServer = ({ version, encoding }: DatabaseFacts, server: string): Result[] => {
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
    encoding !== 'UTF8' &&
      failure(
        `The encoding of the database is ${encoding}.`,
        "Create it with `create database … template template0 encoding 'UTF8'`.",
      ),
  ].filter((finding) => finding !== false);
};

export const judgePrivileges = (facts: DatabaseFacts): Result[] => {
  const { schema, role, foreignTables, canUseSchema, canCreateInSchema } = facts;
  if (schema === null) {
    const action = `Run: create schema authorization ${role}`;
    return [failure(`The role ${role} has no schema in its search_path.`, action)];
  }
  const [first] = foreignTables;
  const findings = [
    (!canUseSchema || !canCreateInSchema) &&
      failure(
        `The role ${role} cannot create tables in the schema ${schema}.`,
        `Run as its owner: grant usage, create on schema ${schema} to ${role}`,
      ),
    first !== undefined &&
      failure(
        `The role ${role} does not own ${formatCount(foreignTables.length, 'table')} of the service, such as ${first}.`,
        `Run for each as its owner: alter table ${first} owner to ${role}`,
      ),
  ].filter((finding) => finding !== false);
  return findings.length > 0 ? findings : [ok(`The role ${role} has all privileges it needs.`)];
};

export const judgeSearch = ({ hasTrigrams, canInstallTrigrams, hasSearchIndex }: DatabaseFacts): Result => {
  if (hasSearchIndex) return ok('The search of users has its index.');
  return warning(
    'The search index is missing: a search of users reads the whole table.',
    hasTrigrams || canInstallTrigrams
      ? `Run as superuser: ${SEARCH_INDEX}`
      : "Install PostgreSQL's contrib modules. Below 10,000 users this is not noticeable.",
  );
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
