import { hostname } from 'node:os';
import { styleText } from 'node:util';
import { type DestinationStream, type Logger, pino } from 'pino';
import { reasonOf } from './errno.ts';
import { printable } from './operator-text.ts';
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
  const isTerminal = !destination && process.stdout.isTTY;
  return pino(options, format === 'json' ? output : textLines(output, isTerminal));
};

/** A logger of failures whose stack `isKnown` may have seen in the log: then they are one sentence. */
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

const textLines = (output: DestinationStream, isTerminal: boolean): DestinationStream => {
  // Honors NO_COLOR and FORCE_COLOR.
  const hasColors = isTerminal && process.stdout.hasColors();
  return { write: (json) => output.write(formatLogLine(json, { isTerminal, hasColors })) };
};

/** Keeps the process running: an unhandled rejection is a bug, but must not abort all other requests. */
export const logUnhandledRejections = (logger: Logger): void => {
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
};

type Output = { isTTY?: boolean; write(text: string): unknown };
type OperatorOutput = { format: LogFormat; stdout?: Output; stderr?: Output };

/**
 * Prints lines for the operator: as they are on a terminal that shows the log as text, otherwise as log entries, which have a time. Secrets
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
      // Indentation and empty lines are only for the eye.
      else if (line.trim() !== '') logger.info(line.trim());
    },

    printSecret: (line: string): void => {
      (isForPeople ? stdout : stderr).write(`${line}\n`);
    },
  };
};

type Entry = { time: number; level: number; msg?: string; err?: LoggedError; [field: string]: unknown };
type LoggedError = { type?: string; message?: string; stack?: string };

const LEVELS = {
  10: ['trace', 'gray'],
  20: ['debug', 'gray'],
  30: ['info', 'green'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
} as const;
const ERROR_LEVEL = 50;

/** Fields of each entry that are of no use on a terminal. */
const OMITTED = new Set(['pid', 'hostname', 'reqId', 'user_id', 'trace_id', 'span_id']);

type Style = { isTerminal: boolean; hasColors: boolean };

/**
 * Formats a JSON line of the log for people: time (in a file with the date, in UTC), level, and for a response the method, path, status and duration in
 * milliseconds. Only errors have more than one line: the stack follows, indented.
 * @param json an entry as pino writes it
 */
export const formatLogLine = (json: string, { isTerminal, hasColors }: Style): string => {
  const { time, level, msg = '', err, ...fields }: Entry = JSON.parse(json);
  const [name, color] = LEVELS[level as keyof typeof LEVELS] ?? LEVELS[30]; // only pino's own levels are used
  const head = `${isTerminal ? clockTime(time) : new Date(time).toISOString()} ${name.padEnd(5)}`;
  const text = `${describe(msg, fields)}${describeError(msg, err)}`;
  // Colors are added last, so that no other text can contain any.
  const line = hasColors
    ? `${styleText(color, head, { validateStream: false })} ${onOneLine(text)}`
    : `${head} ${onOneLine(text)}`;
  const stack = level >= ERROR_LEVEL ? stackLines(err) : [];
  return [line, ...stack].map((part) => `${part}\n`).join('');
};

/** In the time zone of the terminal. */
const clockTime = (time: number): string => {
  const at = new Date(time);
  return `${at.toTimeString().slice(0, 'HH:MM:SS'.length)}.${String(at.getMilliseconds()).padStart(3, '0')}`;
};

const describe = (msg: string, fields: Record<string, unknown>): string => {
  const { method, path, status, ms, ...others } = fields;
  return ms === undefined
    ? `${msg}${describeFields(fields)}`
    : `${method} ${path} ${status} ${ms} ms${describeFields(others)}`;
};

const describeFields = (fields: Record<string, unknown>): string =>
  Object.entries(fields)
    .filter(([name]) => !OMITTED.has(name))
    .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('');

/** pino uses the message of an error for an entry without its own. */
const describeError = (msg: string, err: LoggedError | undefined): string =>
  err?.message === undefined || err.message === msg ? '' : `: ${err.message}`;

/** Without its first lines, which repeat the message. */
const stackLines = (err: LoggedError | undefined): string[] =>
  (err?.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => `  ${onOneLine(line.trim())}`);

const onOneLine = (text: string): string => printable(text.replaceAll(/[\n\t]/g, ' '));
