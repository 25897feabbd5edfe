import { hostname } from 'node:os';
import { type DestinationStream, type Logger, pino } from 'pino';
import { formatLogLine } from './log-lines.ts';
import { logFieldsOf, tracing } from './tracing.ts';

export type { Logger };

/** `text`: one line for people. `json`: an object for each line. */
export type LogFormat = 'text' | 'json';

type Options = {
  /** Default: `json`. */
  format?: LogFormat;
  /** Default: standard output. */
  destination?: DestinationStream;
  /** Number of the worker process, added to every line. */
  worker?: number;
  /** Adds the ids of the current span to every line. */
  hasTraces?: boolean;
};

/** Logs lines. Fields that may contain secrets are redacted. */
export const createLogger = (
  level: string,
  { format = 'json', destination, worker, hasTraces }: Options = {},
): Logger => {
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
  const output = destination ?? pino.destination(1);
  return pino(options, format === 'json' ? output : textLines(output));
};

const textLines = (output: DestinationStream): DestinationStream => {
  // Honors NO_COLOR and FORCE_COLOR.
  const hasColors = process.stdout.isTTY && process.stdout.hasColors();
  return { write: (json) => output.write(formatLogLine(json, { hasColors })) };
};

/** Keeps the process running: an unhandled rejection is a bug, but must not abort all other requests. */
export const logUnhandledRejections = (logger: Logger): void => {
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
};

type Output = { isTTY?: boolean; write(text: string): unknown };
type OperatorOutput = { format: LogFormat; stdout?: Output; stderr?: Output };

/**
 * Prints lines for the operator: as they are, or as log entries if standard output must contain only JSON lines. Secrets
 * go to standard error unless standard output is a terminal, because logs are stored.
 */
export const createOperatorOutput = (
  logger: Pick<Logger, 'info'>,
  { format, stdout = process.stdout, stderr = process.stderr }: OperatorOutput,
) => ({
  printLine: (line: string): void => {
    if (format === 'text') stdout.write(`${line}\n`);
    // Indentation and empty lines are only for the eye.
    else if (line.trim() !== '') logger.info(line.trim());
  },

  printSecret: (line: string): void => {
    (stdout.isTTY && format === 'text' ? stdout : stderr).write(`${line}\n`);
  },
});
