import { hostname } from 'node:os';
import { type DestinationStream, type Logger, pino } from 'pino';
import { logFieldsOf, tracing } from './tracing.ts';

export type { Logger };

type Options = {
  /** Default: standard output. */
  destination?: DestinationStream;
  /** Number of the worker process, added to every line. */
  worker?: number;
  /** Adds the ids of the current span to every line. */
  hasTraces?: boolean;
};

/** Logs JSON lines. Fields that may contain secrets are redacted. */
export const createLogger = (level: string, { destination, worker, hasTraces }: Options = {}): Logger => {
  const options = {
    level,
    ...(hasTraces && { mixin: () => logFieldsOf(tracing.current()) }),
    ...(worker !== undefined && { base: { pid: process.pid, hostname: hostname(), worker } }),
    redact: {
      paths: [
        'req.headers.authorization',
        'req.headers.cookie',
        ...['password', 'token', 'authorization', 'secretKey', 'passwordHash', 'digest'].flatMap((name) => [
          name,
          `*.${name}`,
          `err.cause.${name}`,
        ]),
      ],
      censor: '[secret]',
    },
  };
  return destination ? pino(options, destination) : pino(options);
};

/** Keeps the process running: an unhandled rejection is a bug, but must not abort all other requests. */
export const logUnhandledRejections = (logger: Logger): void => {
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
};

type Output = { isTTY?: boolean; write(text: string): unknown };

/**
 * Prints lines for the operator: as plain text to a terminal, otherwise as log entries, because standard output then
 * contains only JSON lines. Secrets go to standard error instead, because logs are stored.
 */
export const createOperatorOutput = (
  logger: Pick<Logger, 'info'>,
  { stdout, stderr }: { stdout: Output; stderr: Output } = process,
) => ({
  printLine: (line: string): void => {
    if (stdout.isTTY) stdout.write(`${line}\n`);
    else logger.info(line);
  },

  printSecret: (line: string): void => {
    (stdout.isTTY ? stdout : stderr).write(`${line}\n`);
  },
});
