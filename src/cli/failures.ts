import { DataDirInUse, EmbeddedPostgresError } from '../adapters/embedded-postgres/index.ts';
import { InvalidSettings } from '../config/config.ts';
import { SecretFileError } from '../config/secret-file.ts';
import { problemOfDatabaseError } from '../db/database-errors.ts';
import { errorCodeOf } from '../lib/errno.ts';
import { Problem } from '../lib/problems.ts';
import { ListenError } from '../server/listen.ts';

/** Exit codes: 1 for what failed, 2 for what was called or set wrongly. */
const FAILED = 1;
const MISUSED = 2;

/** Mistakes and failures that an operator can act on get a line each; only bugs of ours get a stack. */
export const reportFailure = (error: unknown): void => {
  process.exitCode = error instanceof InvalidSettings ? MISUSED : FAILED;
  process.stderr.write(`${linesOf(error).join('\n')}\n`);
};

const linesOf = (error: unknown): string[] => {
  if (error instanceof InvalidSettings) return error.lines.map((line) => `Bad setting ${line}`);
  if (error instanceof Problem) return [error.message, ...fieldLines(error)];
  if (!(error instanceof Error)) return [String(error)];
  if (SELF_EXPLANATORY.some((kind) => error instanceof kind)) return [error.message];
  if (isDatabaseFailure(error)) return [`DATABASE_URL: the database cannot be used (${reasonOf(error)}).`];
  if (errorCodeOf(error) === INSUFFICIENT_PRIVILEGE) return [`DATABASE_URL: ${error.message}. ${PRIVILEGES}`];
  return [fileFailure(error) ?? error.stack ?? error.message];
};

const INSUFFICIENT_PRIVILEGE = '42501';
const PRIVILEGES =
  'The role needs USAGE and CREATE on its schema, and must own the tables of Steward: grant usage, create on schema public to ROLE.';

const FILE_FAILURES: Record<string, string> = {
  ENOENT: 'No such file or folder.',
  ENOTDIR: 'Part of the path is not a folder.',
  EISDIR: 'Is a folder.',
  EACCES: 'Permission denied.',
  EPERM: 'Permission denied.',
};

/** Errors of the file system name the file. */
const fileFailure = (error: Error): string | null => {
  if (!('path' in error)) return null;
  const reason = FILE_FAILURES[errorCodeOf(error) ?? ''];
  return reason === undefined ? error.message : `${error.path}: ${reason}`;
};

const SELF_EXPLANATORY = [DataDirInUse, EmbeddedPostgresError, SecretFileError, ListenError];

/** What the sentence itself has told already is not told again. */
const fieldLines = ({ message: told, fields = {} }: Problem): string[] =>
  Object.entries(fields).flatMap(([field, messages]) =>
    messages.filter((message) => !told.includes(message)).map((message) => `  ${field}: ${message}`),
  );

/** Refused logins (SQLSTATE 28…) and unknown databases (3D000) are no outage, but the operator's all the same. */
const isDatabaseFailure = (error: Error): boolean =>
  problemOfDatabaseError(error)?.code === 'database-unavailable' ||
  ('code' in error && /^(28|3D)/.test(String(error.code)));

/** A host of several addresses fails at each of them, and says nothing by itself. */
const reasonOf = (error: Error): string =>
  error instanceof AggregateError ? error.errors.map(String).join('; ') : error.message;
