import type { SyslogServer, TlsFiles } from '../../config/sink-config.ts';
import type { EventSink } from './event-sink.ts';
import { openConnection } from './server-connection.ts';
import { frameOf } from './syslog-message.ts';

/** A server that refuses a connection, such as one too many, closes it by then. */
const REFUSAL_MS = 500;
/** Within this time, a server has written what it has read. */
const SETTLE_MS = 2_000;

type Options = {
  server: SyslogServer;
  tls: TlsFiles;
  baseUrl: string;
  refusalMs?: number;
  settleMs?: number;
};

/**
 * Sends messages of RFC 5424 over TCP or TLS, with octet counting (RFC 6587, RFC 5425). Syslog has no acknowledgements: what the kernel of
 * the server has taken is lost if the server ends before it reads it, and what the server has read, if it ends before it writes it. So
 *
 *     witness  |--connect-------------------------------------------------------- still open? --|
 *     data        |--connect--send--still open?--half-close--server closes: all was read--|
 *
 * the server must close a connection of its own for each batch. TCP resets a connection that is closed while something is unread. And a
 * second connection must last until the server had time to write: it breaks if the server is killed or restarted before that.
 */
export const createSyslogSink = (options: Options): EventSink => {
  const { server, tls, baseUrl, refusalMs = REFUSAL_MS, settleMs = SETTLE_MS } = options;
  const { hostname } = new URL(baseUrl);
  const place = `${server.host}:${server.port}`;
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

    verify: async (signal) => {
      using connection = await openConnection(server, tls, signal);
      await connection.stayOpen(refusalMs);
      const certificate = connection.certificate();
      await connection.finish();
      return { place, certificate };
    },
  };
};
