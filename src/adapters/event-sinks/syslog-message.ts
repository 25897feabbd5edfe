import type { SinkEvent } from './event-sink.ts';

/** Log audit. */
const FACILITY = 13;
const WARNING = 4;
const INFORMATIONAL = 6;

/** What someone should look at: refusals, failures, and copies of passkeys. */
const WARNS = /(^|[._])(failed|refused|lapsed|disabled|copy_detected)$/;

/** The number of organizations for documents (RFC 5612): Steward has none of its own. */
const SD_ID = 'steward@32473';

/** RFC 5425, 4.3.1: servers should take 8,192 bytes. rsyslog cuts what is longer than 8,096, which is no JSON any more. */
const MAX_BYTES = 8_000;

/** A message with its length before it: octet counting, as of RFC 6587, 3.4.1. */
export const frameOf = (event: SinkEvent, hostname: string): Buffer => {
  const message = Buffer.from(messageOf(event, hostname));
  return Buffer.concat([Buffer.from(`${message.length} `), message]);
};

/** A message of RFC 5424, at most 8,000 bytes long. @param hostname of the installation */
export const messageOf = (event: SinkEvent, hostname: string): string => {
  const { id, type, timestamp, subject, actor } = event;
  const priority = FACILITY * 8 + (WARNS.test(type) ? WARNING : INFORMATIONAL);
  const header = [
    `<${priority}>1`,
    timestamp.toISOString(),
    field(hostname, 255),
    'steward',
    '-',
    field(type, 32),
  ];
  const data = [SD_ID, ...Object.entries({ id, type, subject, actor }).flatMap(parameter)].join(' ');
  const head = `${header.join(' ')} [${data}]`;
  const message = `${head} ${asciiJson(event)}`;
  if (Buffer.byteLength(message) <= MAX_BYTES) return message;
  return `${head} ${asciiJson({ id, type, timestamp, is_truncated: true })}`;
};

/** A field of the header has printable ASCII only. */
const field = (text: string, maxLength: number): string =>
  text.replaceAll(/[^\x21-\x7e]/g, '').slice(0, maxLength) || '-';

/** Longer values would leave no room for the message. No address and no name of the service is longer. */
const MAX_CHARACTERS = 320;

const parameter = ([name, value]: [string, string | number | null]): string[] => {
  if (value === null) return [];
  const text = [...String(value).toWellFormed()].slice(0, MAX_CHARACTERS).join('');
  // Servers escape control characters in ways of their own.
  const escaped = text.replaceAll(/\p{Cc}/gu, '\ufffd').replaceAll(/["\\\]]/g, '\\$&');
  return [`${name}="${escaped}"`];
};

/** In ASCII, because a text in UTF-8 must begin with a byte order mark, which is no JSON. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
