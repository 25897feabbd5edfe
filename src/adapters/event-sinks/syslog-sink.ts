import type { SyslogServer, TlsFiles } from '../../config/sink-config.ts';
import type { EventSink, SinkEvent } from './event-sink.ts';
import { openConnection } from './server-connection.ts';

/** By then, a server that refuses a connection, for example one too many, has closed it. */
const REFUSAL_MS = 500;
/** By then, a server has written what it has read. */
const SETTLE_MS = 2_000;

type Options = {
  server: SyslogServer;
  tls: TlsFiles;
  baseUrl: string;
  refusalMs?: number;
  settleMs?: number;
};

/**
 * Sends messages of RFC 5424 over TCP or TLS, with octet counting (RFC 6587, RFC 5425). Syslog has no acknowledgements: a server that ends
 * loses messages that its kernel has received but it has not read, and messages that it has read but not written. Each batch uses
 *
 *     witness  |--connect-------------------------------------------------------- still open? --|
 *     data        |--connect--send--still open?--half-close--server closes: all was read--|
 *
 * - data: the server must close this connection itself. TCP resets a connection that is closed while bytes are unread.
 * - witness: this connection must last until the server had time to write. It breaks if the server is killed or restarted before that.
 */
export const createSyslogSink = (options: Options): EventSink => {
  const { server, tls, baseUrl, refusalMs = REFUSAL_MS, settleMs = SETTLE_MS } = options;
  const { hostname } = new URL(baseUrl);
  return {
    name: 'syslog',

    write: async (events, signal) => {
      using witness = await openConnection(server, tls, signal);
      using data = await openConnection(server, tls, signal);
      await data.write(Buffer.concat(events.map((event) => frameOf(event, hostname))));
      await data.stayOpen(refusalMs);
      await data.finish();
      await witness.stayOpen(settleMs);
      await witness.finish();
    },
  };
};

/** Log audit. */
const FACILITY = 13;
const WARNING = 4;
const INFORMATIONAL = 6;

/** Events that someone should look at: refusals and failures. */
const WARNS = /(^|[._])(failed|refused|lapsed|disabled)$/;

/** An enterprise number reserved for documentation (RFC 5612), because Steward has none. */
const SD_ID = 'steward@32473';

/** RFC 5425, 4.3.1: servers should accept 8,192 bytes. rsyslog cuts messages at 8,096 bytes, and the JSON would be incomplete. */
const MAX_BYTES = 8_000;

/** A message after its length: octet counting (RFC 6587, 3.4.1). */
export const frameOf = (event: SinkEvent, hostname: string): Buffer => {
  const message = Buffer.from(messageOf(event, hostname));
  return Buffer.concat([Buffer.from(`${message.length} `), message]);
};

/** A message of RFC 5424, at most 8,000 bytes long. @param hostname the host of the installation */
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

/** Fields of the header allow printable ASCII only. */
const field = (text: string, maxLength: number): string =>
  text.replaceAll(/[^\x21-\x7e]/g, '').slice(0, maxLength) || '-';

/** Longer values would leave no room for the message. Addresses and names of the service are shorter. */
const MAX_CHARACTERS = 320;

const parameter = ([name, value]: [string, string | number | null]): string[] => {
  if (value === null) return [];
  const text = [...String(value).toWellFormed()].slice(0, MAX_CHARACTERS).join('');
  // Servers escape control characters differently.
  const escaped = text.replaceAll(/\p{Cc}/gu, '\ufffd').replaceAll(/["\\\]]/g, '\\$&');
  return [`${name}="${escaped}"`];
};

/** In ASCII, because UTF-8 text must begin with a byte order mark, which is invalid in JSON. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
