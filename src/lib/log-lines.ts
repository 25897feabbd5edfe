import { styleText } from 'node:util';

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

/** A terminal would obey control characters, and bidirectional ones reorder the line. */
const NOT_PRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Formats a JSON line of the log for a terminal: time, level, and for a response the method, path, status and duration in
 * milliseconds. Only errors have more than one line: the stack follows, indented.
 * @param json an entry as pino writes it
 */
export const formatLogLine = (json: string, { hasColors }: { hasColors: boolean }): string => {
  const { time, level, msg = '', err, ...fields }: Entry = JSON.parse(json);
  const [name, color] = LEVELS[level as keyof typeof LEVELS] ?? LEVELS[30]; // only pino's own levels are used
  const head = `${clockTime(time)} ${name.padEnd(5)}`;
  const text = `${describe(msg, fields)}${describeError(msg, err)}`;
  // Colors are added last, so that no other text can contain any.
  const line = hasColors
    ? `${styleText(color, head, { validateStream: false })} ${printable(text)}`
    : `${head} ${printable(text)}`;
  const stack = level >= ERROR_LEVEL ? stackLines(err) : [];
  return [line, ...stack].map((part) => `${part}\n`).join('');
};

/** In the time zone of the terminal. */
const clockTime = (time: number): string => {
  const at = new Date(time);
  const [hours, minutes, seconds] = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits);
  return `${hours}:${minutes}:${seconds}.${String(at.getMilliseconds()).padStart(3, '0')}`;
};

const twoDigits = (value: number): string => String(value).padStart(2, '0');

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
    .map((line) => `  ${printable(line.trim())}`);

const printable = (text: string): string =>
  text.replaceAll(NOT_PRINTABLE, (character) => (character === '\n' || character === '\t' ? ' ' : '\ufffd'));
