import { hostname } from 'node:os';
import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

/**
 * JSON lines, on standard output unless told otherwise. What could hold a secret is struck out.
 * @param worker the number of one of several processes, which stands in every line
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
