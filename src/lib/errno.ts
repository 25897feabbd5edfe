import { isIPv6 } from 'node:net';
import { constants } from 'node:os';
import { getSystemErrorMessage } from 'node:util';

/** The code of a failed system call (`ENOENT`), or a SQLSTATE. */
export const errorCodeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** Resolves with null if the file or folder does not exist. */
export const nullIfMissing = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return null;
    throw error;
  });

type SystemError = Error & {
  errno: number;
  syscall: string;
  path?: string;
  address?: string;
  port?: number;
  hostname?: string;
};

const isSystemError = (error: Error): error is SystemError =>
  'errno' in error && typeof error.errno === 'number' && 'syscall' in error;

/** Used if Node's message is only the code, or repeats the C library. */
const WORDS: Record<number, string> = {
  [-constants.errno.EDQUOT]: 'disk quota exceeded',
  [-constants.errno.EISDIR]: 'is a directory',
  [-3008]: 'no such host',
  [-3001]: 'no name server answers',
};

/** What libuv says of a name that does not exist, or has no address. */
const NO_ADDRESS = new Set([-3007, -3008]);

const placeOf = ({ path, address, port, hostname, syscall }: SystemError): string =>
  path ?? (address && port ? addressText(address, port) : (address ?? hostname ?? syscall));

const addressText = (address: string, port: number): string =>
  `${isIPv6(address) ? `[${address}]` : address}:${port}`;

/** Why a system call failed, in words: `read-only file system`. Null for other errors. */
export const causeInWords = (error: unknown): string | null =>
  error instanceof Error && isSystemError(error)
    ? (WORDS[error.errno] ?? getSystemErrorMessage(error.errno))
    : null;

/**
 * The message of an error, for operators. For a failed system call, the place and the cause in words: `/srv/data: read-only file system`. A
 * host with several addresses fails with one error per address; the error itself then has no message.
 */
export const reasonOf = (cause: unknown): string => {
  if (cause instanceof AggregateError) return [...new Set(cause.errors.map(reasonOf))].join('; ');
  if (!(cause instanceof Error)) return String(cause);
  return isSystemError(cause) ? `${placeOf(cause)}: ${causeInWords(cause)}` : cause.message;
};

/** Why the service of another organization was not reached, for the people who entered its URL. Like `reasonOf` for other failures. */
export const unreachedReasonOf = (cause: unknown): string =>
  cause instanceof Error && isSystemError(cause) && NO_ADDRESS.has(cause.errno) && cause.hostname
    ? `The host ${cause.hostname} was not found.`
    : reasonOf(cause);

/** A failure that the operator can fix. The message is one line for the operator. */
export class OperatorError extends Error {
  override readonly name: string = this.constructor.name;
}

/** The folder or bucket of backups cannot be used. */
export class BackupStoreError extends OperatorError {}
