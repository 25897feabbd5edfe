import pg from 'pg';
import { OperatorError } from '../lib/errno.ts';
import {
  type FieldErrors,
  invalid,
  NO_DISK_SPACE,
  Problem,
  type ProblemCode,
  USER_EXISTS,
  userExists,
} from '../lib/problems.ts';

/** The field errors of violated constraints. */
export const BROKEN_CONSTRAINTS: Record<string, FieldErrors> = {
  users_email_unique: USER_EXISTS,
  sites_domain_unique: { domain: ['There is a site of this domain already.'] },
  clients_name_unique: { name: ['There is a client of this name already.'] },
  clients_site_id_unique: { site: ['This site has a client already.'] },
  clients_site_id_foreign: { site: ['No such site.'] },
  memberships_client_id_foreign: { client: ['No such client.'] },
  service_accounts_name: { name: ['There is a service account of this name already.'] },
  api_tokens_user_id_name: { name: ['You have a token of this name already.'] },
  client_domains_client_id_domain_unique: { domain: ['This client has this domain already.'] },
  client_domains_verified: { domain: ['Another client has verified this domain.'] },
  sso_connections_active: { is_active: ['This client has an active connection already.'] },
  saved_filters_user_id_hash_unique: { hash: ['You already have a saved filter with this hash.'] },
};

/**
 * SQLSTATE classes and codes of a server that is unreachable, starting, stopping or full, or that has ended a session because its
 * transaction was open for too long (PostgreSQL, appendix A).
 */
const UNAVAILABLE = /^(08|57P0|53|25P0[34])/;
/** disk_full */
export const DISK_FULL = '53100';
/** read_only_sql_transaction: a standby, or a primary that was demoted. */
export const READ_ONLY = '25006';
/** SQLSTATE classes and codes after which the server closes the session: connection, resources, operator, timeout, internal. */
const SESSION_ENDED = /^(08|53[23]|57P|58|25P0[34]|XX)/;
/** insufficient_privilege */
export const INSUFFICIENT_PRIVILEGE = '42501';
const LOCK_NOT_AVAILABLE = '55P03';
/** foreign_key_violation */
const FOREIGN_KEY = '23503';
/** Foreign keys to a client or an app, which may be removed while a request runs. */
const OF_REMOVED = /_(app|client)_id_foreign$/;
/** The transaction can be retried: deadlock, serialization failure, lock or statement timeout. */
const RETRYABLE = /^(40P01|40001|55P03|57014)$/;
const SOCKET_FAILURES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** node-postgres gives these no code. */
const LOST_CONNECTION =
  /^(Connection terminated|timeout (exceeded|expired)|Query read timeout|Client (has encountered a connection|was closed))/;

const READ_ONLY_DETAIL = 'The database is read-only at the moment. Try again shortly.';

/** The problem that a failed statement causes for the caller; null for a bug. */
export const problemOfDatabaseError = (error: unknown): Problem | null => {
  for (const { cause, code, constraint } of causesOf(error)) {
    const fields = BROKEN_CONSTRAINTS[constraint];
    if (fields) return fields === USER_EXISTS ? userExists({}, error) : invalid(fields, error);
    if (code === DISK_FULL)
      return new Problem('database-unavailable', { detail: NO_DISK_SPACE, cause: error });
    if (UNAVAILABLE.test(code) || isLostConnection(cause, code))
      return new Problem('database-unavailable', { cause: error });
    if (code === READ_ONLY)
      return new Problem('database-unavailable', { detail: READ_ONLY_DETAIL, cause: error });
    if (code === FOREIGN_KEY && OF_REMOVED.test(constraint))
      return new Problem('not-found', {
        detail: 'The client or the app has just been removed.',
        cause: error,
      });
    if (RETRYABLE.test(code)) return new Problem('overloaded', { cause: error });
  }
  return null;
};

/** Whether the database could not be used, even if the cause is no longer known. */
export const isOutage = (error: unknown): boolean =>
  problemOfDatabaseError(error)?.code === UNUSABLE || causesOf(error).some(({ code }) => code === UNUSABLE);

const UNUSABLE: ProblemCode = 'database-unavailable';

/** Whether only a statement failed, so that its session can still be used. Ignores the severity, which is in the language of the server. */
export const isOfStatement = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && !SESSION_ENDED.test(error.code ?? '');

/** Whether a statement gave up waiting for a lock. */
export const isLockTimeout = (error: unknown): boolean =>
  causesOf(error).some(({ code }) => code === LOCK_NOT_AVAILABLE);

/** Whether a statement would have inserted a second row with the same key. */
export const isDuplicateOf = (error: unknown, constraint: string): boolean =>
  causesOf(error).some((cause) => cause.constraint === constraint);

/** The error and its causes. Absent texts are empty. */
const causesOf = (error: unknown): { cause: Error; code: string; constraint: string }[] => {
  if (!(error instanceof Error)) return [];
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const constraint = 'constraint' in error && typeof error.constraint === 'string' ? error.constraint : '';
  return [{ cause: error, code, constraint }, ...causesOf(error.cause)];
};

const isLostConnection = (error: Error, code: string): boolean =>
  LOST_CONNECTION.test(error.message) || (SOCKET_FAILURES.has(code) && isOfSocket(error));

/** Errors of the file system use the same codes, but name a path. With a host of several addresses, every address has failed. */
const isOfSocket = (error: Error): boolean =>
  error instanceof AggregateError || ('syscall' in error && !('path' in error));

/** The database was migrated by a version with other migrations. */
export class IncompatibleDatabase extends OperatorError {
  constructor(name: string) {
    super(
      `The database has migration ${name}, which this version of Steward does not know, and lacks others. ` +
        'Run the version that created it, or use an empty database or DATA_DIR.',
    );
  }
}

/** The database contains a part of a backup. */
export class UnfinishedRestore extends OperatorError {
  constructor() {
    super(
      'A restore into this database is running or was interrupted. If it was interrupted, restore the backup again, into an empty database or a new DATA_DIR.',
    );
  }
}
