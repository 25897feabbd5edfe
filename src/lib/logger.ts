import { hostname } from 'node:os';
import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

/**
 * Logs JSON lines, by default to standard output. Fields that may contain secrets are redacted.
 * @param worker number of the worker process, added to every line
 */
export const createLogger = (level: string, destination?: DestinationStream, worker?: number): Logger => {
  const options = {
    level,
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
