import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { type DestinationStream, type Logger, pino } from 'pino';
import { reasonOf } from './errno.ts';
import { printable } from './operator-text.ts';
import { logFieldsOf, tracing } from './tracing.ts';

export type { Logger };

/** `text`: a line for people. `json`: an object per line. */
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
  const isTerminal = !destination && process.stdout.isTTY;
  return pino(options, format === 'json' ? output : textLines(output, isTerminal));
};

/** A logger for failures whose stack may already be in the log, as `isKnown` says: these become one sentence. */
export const withoutKnownStacks = (logger: Logger, isKnown: (error: unknown) => boolean): Logger =>
  logger.child(
    {},
    {
      serializers: {
        err: (error: Error) =>
          isKnown(error) ? { type: error.name, message: sentenceOf(error) } : pino.stdSerializers.err(error),
      },
    },
  );

const sentenceOf = (error: Error): string => {
  const [message, reason] = [reasonOf(error), reasonOf(error.cause ?? '')];
  return message.includes(reason) ? message : `${message} (${reason})`;
};

/** Fields that are useless to people, and the fields of a response, which its message repeats. */
const OMITTED = 'pid,hostname,reqId,user_id,trace_id,span_id,method,path,status,ms';

/** Lines for people. On a terminal, times in its time zone; in a file, with the date. */
const textLines = (output: DestinationStream, isTerminal: boolean): DestinationStream => {
  // Loaded only here: most logs are JSON.
  const { prettyFactory }: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty');
  const format = prettyFactory({
    // Honors NO_COLOR and FORCE_COLOR.
    colorize: isTerminal && process.stdout.hasColors(),
    translateTime: isTerminal ? 'SYS:HH:MM:ss.l' : `UTC:yyyy-mm-dd'T'HH:MM:ss.l'Z'`,
    ignore: OMITTED,
    singleLine: true,
    messageFormat: ({ msg, method, path, status, ms }) =>
      printable(ms === undefined ? String(msg ?? '') : `${method} ${path} ${status} ${ms} ms`),
  });
  return { write: (json) => output.write(format(json)) };
};

/** Keeps the process running: an unhandled rejection is a bug, but must not abort all other requests. */
export const logUnhandledRejections = (logger: Logger): void => {
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
};

type Output = { isTTY?: boolean; write(text: string): unknown };
type OperatorOutput = { format: LogFormat; stdout?: Output; stderr?: Output };

/**
 * Prints lines for the operator: unchanged on a terminal that shows the log as text, otherwise as log entries, which have a time. Secrets
 * then go to standard error, because logs are stored.
 */
export const createOperatorOutput = (
  logger: Pick<Logger, 'info'>,
  { format, stdout = process.stdout, stderr = process.stderr }: OperatorOutput,
) => {
  const isForPeople = stdout.isTTY && format === 'text';
  return {
    printLine: (line: string): void => {
      if (isForPeople) stdout.write(`${line}\n`);
      // Indentation and empty lines are useful on a terminal only.
      else if (line.trim() !== '') logger.info(line.trim());
    },

    printSecret: (line: string): void => {
      (isForPeople ? stdout : stderr).write(`${line}\n`);
    },
  };
};
