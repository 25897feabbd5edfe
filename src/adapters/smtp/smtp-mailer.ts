import { createTransport } from 'nodemailer';
import type { Delivery, Mail, Mailer } from './mailer.ts';
import { deliveryOfFailure } from './smtp-failure.ts';

/** In milliseconds. `mail` bounds a whole try, which a server that trickles its answers could draw out for ever. */
export type SmtpTimeouts = { connection: number; greeting: number; socket: number; mail: number };

const TIMEOUTS_MS: SmtpTimeouts = { connection: 10_000, greeting: 10_000, socket: 30_000, mail: 120_000 };
/** How long a socket waits for the server's end when it is closed. */
const CLOSE_TIMEOUT_MS = 1_000;
/** How many times a mail is retried on another connection when its connection turns out to be closed before anything was sent. */
const MAX_REQUEUES = 2;

type Options = { url: string; connections: number; timeoutsMs?: Partial<SmtpTimeouts> };

/** Sends over a pool of connections to the mail server of the settings. Nothing of it is logged. */
export const createSmtpMailer = ({ url, connections, timeoutsMs }: Options): Mailer => {
  const server = readSmtpUrl(url);
  const limits = { ...TIMEOUTS_MS, ...timeoutsMs };
  const transport = createTransport({
    pool: true,
    host: server.host,
    port: server.port,
    secure: server.isSecure,
    requireTLS: server.login !== null && !isLoopback(server.host),
    ...(server.login && { auth: { user: server.login.user, pass: server.login.password } }),
    maxConnections: connections,
    maxRequeues: MAX_REQUEUES,
    connectionTimeout: limits.connection,
    greetingTimeout: limits.greeting,
    socketTimeout: limits.socket,
    socketCloseTimeout: CLOSE_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });

  return {
    send: async (mail: Mail): Promise<Delivery> => {
      try {
        await transport.sendMail({ ...messageOf(mail), signal: AbortSignal.timeout(limits.mail) });
        return { outcome: 'taken' };
      } catch (error) {
        return deliveryOfFailure(error, server);
      }
    },

    close: () => transport.close({ force: true }),
  };
};

/** A password goes over a network only once the connection is encrypted. */
const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);

/** Addresses as objects, and the envelope by itself: no text is ever taken apart into addresses. */
const messageOf = ({ messageId, date, from, to, subject, text, html }: Mail) => ({
  envelope: { from: from.address, to: [to] },
  from,
  to: { name: '', address: to },
  subject,
  text,
  html,
  date,
  messageId: `<${messageId}>`,
  // RFC 3834 §5, and what Exchange calls the same: nobody's absence notice is to answer this.
  headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
});

export type SmtpServer = {
  host: string;
  /** Absent: 465 for `smtps:`, else 587 (RFC 8314 §3.3). */
  port: number | undefined;
  /** TLS from the first byte; otherwise by STARTTLS, where the server offers it. */
  isSecure: boolean;
  login: { user: string; password: string } | null;
};

/** Reads `smtp://user:password@host:port`; user and password are percent-encoded there. */
export const readSmtpUrl = (url: string): SmtpServer => {
  const { protocol, hostname, port, username, password } = new URL(url);
  return {
    // An IPv6 address stands in brackets in a URL only.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? undefined : Number(port),
    isSecure: protocol === 'smtps:',
    login:
      username === '' ? null : { user: decodeURIComponent(username), password: decodeURIComponent(password) },
  };
};
