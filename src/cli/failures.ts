import { DataDirInUse, EmbeddedPostgresError } from '../adapters/embedded-postgres.ts';
import { BadSettings } from '../core/config.ts';
import { Problem } from '../core/problems.ts';

/** Exit codes: 1 for what failed, 2 for what was called or set wrongly. */
const FAILED = 1;
const MISUSED = 2;

/** Mistakes and failures that an operator can act on get a line each; only bugs of ours get a stack. */
export const reportFailure = (error: unknown): void => {
  process.exitCode = error instanceof BadSettings ? MISUSED : FAILED;
  process.stderr.write(`${linesOf(error).join('\n')}\n`);
};

const linesOf = (error: unknown): string[] => {
  if (error instanceof BadSettings) return error.lines.map((line) => `Bad setting ${line}`);
  if (error instanceof Problem) return [error.message, ...fieldLines(error)];
  if (error instanceof DataDirInUse || error instanceof EmbeddedPostgresError) return [error.message];
  if (!(error instanceof Error)) return [String(error)];
  return [knownFailure(error) ?? error.stack ?? error.message];
};

const fieldLines = ({ fields = {} }: Problem): string[] =>
  Object.entries(fields).flatMap(([field, messages]) => messages.map((message) => `  ${field}: ${message}`));

const knownFailure = (error: Error): string | null => {
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'EADDRINUSE') return 'PORT is in use by another process. Stop it, or set another PORT.';
  if (code === 'EACCES' && 'port' in error) return 'PORT may not be opened by this user. Set another PORT.';
  if (/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|28|3D|08|57)/.test(code)) {
    return `DATABASE_URL: the database cannot be used (${error.message}).`;
  }
  return 'path' in error ? error.message : null;
};
