import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

/** JSON lines, on standard output unless told otherwise. What could hold a secret is struck out. */
export const createLogger = (level: string, destination?: DestinationStream): Logger => {
  const options = {
    level,
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
