import { InvalidSettings } from '../config/config.ts';
import { DISK_FULL, INSUFFICIENT_PRIVILEGE, problemOfDatabaseError } from '../db/database-errors.ts';
import { causeInWords, errorCodeOf, OperatorError, reasonOf } from '../lib/errno.ts';
import { NO_DISK_SPACE, Problem } from '../lib/problems.ts';

const FAILURE = 1;
const USAGE_ERROR = 2;

/** Prints one line per error that the operator can fix, and a stack only for a bug. Sets the exit code. */
export const reportFailure = (error: unknown): void => {
  process.exitCode = error instanceof InvalidSettings ? USAGE_ERROR : FAILURE;
  process.stderr.write(`${linesOf(error).join('\n')}\n`);
};

export const linesOf = (error: unknown): string[] => {
  if (error instanceof InvalidSettings) return error.lines.map((line) => `Invalid setting ${line}`);
  if (error instanceof Problem) return [error.message, ...fieldLines(error)];
  if (!(error instanceof Error)) return [String(error)];
  if (error instanceof OperatorError) return [error.message];
  if (errorCodeOf(error) === DISK_FULL)
    return [`${NO_DISK_SPACE} Free space and try again (${reasonOf(error)}).`];
  if (isDatabaseFailure(error)) return [`DATABASE_URL: the database cannot be used (${reasonOf(error)}).`];
  if (errorCodeOf(error) === INSUFFICIENT_PRIVILEGE) return [`DATABASE_URL: ${error.message}. ${PRIVILEGES}`];
  if (causeInWords(error) !== null) return [`${reasonOf(error)}.`];
  return [error.stack ?? error.message];
};

const PRIVILEGES =
  'The role needs USAGE and CREATE on its schema, and must own the tables of Steward: grant usage, create on schema public to ROLE.';

/** Omits messages that the sentence already contains. */
const fieldLines = ({ message: sentence, fields = {} }: Problem): string[] =>
  Object.entries(fields).flatMap(([field, messages]) =>
    messages.filter((message) => !sentence.includes(message)).map((message) => `  ${field}: ${message}`),
  );

/** Includes rejected logins (SQLSTATE 28…) and unknown databases (3D000). */
const isDatabaseFailure = (error: Error): boolean =>
  problemOfDatabaseError(error)?.code === 'database-unavailable' ||
  ('code' in error && /^(28|3D)/.test(String(error.code)));
