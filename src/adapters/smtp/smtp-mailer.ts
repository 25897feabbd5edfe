import { createTransport } from 'nodemailer';
import type { DeliveryFailure } from '../../lib/telemetry.ts';
import { deliveryOfFailure, reasonOfFailure } from './smtp-failure.ts';

/** A rendered mail. Header values must be single lines. */
export type Mail = {
  /** Without angle brackets. The same for every attempt, so that mail programs recognize duplicates. */
  messageId: string;
  date: Date;
  /** `name` is one line of text, `address` one valid address. */
  from: { name: string; address: string };
  to: string;
  subject: string;
  text: string;
  html: string;
};

/** `refused` is permanent, `failed` temporary. `reason`: at most 500 characters, without secrets and links. */
export type Delivery =
  | { outcome: 'taken' }
  | { outcome: 'failed' | 'refused'; cause: DeliveryFailure; reason: string };

export type Mailer = ReturnType<typeof createSmtpMailer>;

/** In milliseconds. `mail` limits a whole attempt: a slow server could extend it indefinitely. */
export type SmtpTimeouts = { connection: number; greeting: number; socket: number; mail: number };

const TIMEOUTS_MS: SmtpTimeouts = { connection: 10_000, greeting: 10_000, socket: 30_000, mail: 120_000 };
/** A closed socket waits this long for the server to close its end. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Retries on another connection if a pooled one was already closed. */
const MAX_REQUEUES = 2;

type Options = { url: string; connections: number; timeoutsMs?: Partial<SmtpTimeouts> };

/** Sends mails over a pool of connections to the mail server. Does not log. */
export const createSmtpMailer = ({ url, connections, timeoutsMs }: Options) => {
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
    /** Sends a mail to the mail server. Never rejects. */
    send: async (mail: Mail): Promise<Delivery> => {
      try {
        await transport.sendMail({ ...messageOf(mail), signal: AbortSignal.timeout(limits.mail) });
        return { outcome: 'taken' };
      } catch (error) {
        return deliveryOfFailure(error, server);
      }
    },

    /**
     * Connects and logs in without sending a mail.
     * @returns null, or the reason of a failure, without secrets
     */
    verify: async (): Promise<string | null> => {
      try {
        await transport.verify();
        return null;
      } catch (error) {
        return reasonOfFailure(error, server);
      }
    },

    /** Closes all connections. Running deliveries fail, although the server may have accepted the mail. */
    close: (): void => transport.close({ force: true }),
  };
};

/** Other hosts require TLS before the password is sent. */
const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);

/** Passes addresses as objects and the envelope separately, so that nodemailer parses no text as addresses. */
const messageOf = ({ messageId, date, from, to, subject, text, html }: Mail) => ({
  envelope: { from: from.address, to: [to] },
  from,
  to: { name: '', address: to },
  subject,
  text,
  html,
  date,
  messageId: `<${messageId}>`,
  // RFC 3834 §5, and its equivalent in Exchange: prevents automatic replies.
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
