import { createTransport, type NodemailerError } from 'nodemailer';
import { isLoopback } from '../../lib/ip-networks.ts';
import type { DeliveryFailure } from '../../lib/telemetry.ts';
import { traced } from '../../lib/tracing.ts';
import type { Delivery, Mail, Mailer, MailerOptions, MailTimeouts } from './mailer.ts';

const TIMEOUTS_MS: MailTimeouts = { connection: 10_000, greeting: 10_000, socket: 30_000, mail: 120_000 };
/** A closed socket waits this long for the server to close its end. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Retries on another connection if a pooled one was already closed. */
const MAX_REQUEUES = 2;

/** Sends mails by SMTP, over a pool of connections. */
export const createSmtpMailer = ({ url, connections, timeoutsMs }: MailerOptions): Mailer => {
  const server = readSmtpUrl(url);
  const limits = { ...TIMEOUTS_MS, ...timeoutsMs };
  const transport = createTransport({
    pool: true,
    host: server.host,
    port: server.port,
    secure: server.isSecure,
    // Before the password is sent to another machine.
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
    send: async (mail) => {
      try {
        const message = { ...messageOf(mail), signal: AbortSignal.timeout(limits.mail) };
        await traced({ name: 'SMTP', kind: 'client' }, () => transport.sendMail(message));
        return { outcome: 'taken' };
      } catch (error) {
        return deliveryOfFailure(error, server);
      }
    },

    verify: async () => {
      try {
        await transport.verify();
        return null;
      } catch (error) {
        return reasonOfFailure(error, server);
      }
    },

    close: () => transport.close({ force: true }),
  };
};

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

type SmtpServer = {
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

/** The size of the column. */
const MAX_REASON_LENGTH = 500;
/** Redacting shorter secrets would remove parts of words, and the gaps would reveal the secret. */
const MIN_SECRET_LENGTH = 4;
const REDACTED = '[…]';

/** Bad sequence of commands, and missing login or TLS (RFC 4954 §6, RFC 3207 §4): not caused by the mail. */
const SESSION_ERRORS = new Set([503, 530]);

type Failure = Pick<NodemailerError, 'message'> & Partial<NodemailerError>;

/** Whether a failed attempt should be retried, and a reason that may be shown to administrators. */
export const deliveryOfFailure = (error: unknown, server: SmtpServer): Delivery => ({
  outcome: isPermanent(failureOf(error)) ? 'refused' : 'failed',
  cause: causeOf(failureOf(error)),
  reason: reasonOfFailure(error, server),
});

/** Why the server cannot be used or refused a mail, without secrets. */
const reasonOfFailure = (error: unknown, { login }: SmtpServer): string =>
  reasonOf(failureOf(error), login).slice(0, MAX_REASON_LENGTH);

const failureOf = (error: unknown): Failure =>
  error instanceof Error ? error : { message: 'The mail could not be sent.' };

/** Codes of nodemailer and of Node's sockets. */
const CAUSES: Record<string, DeliveryFailure> = {
  EAUTH: 'login',
  ENOAUTH: 'login',
  ETLS: 'tls',
  EREQUIRETLS: 'tls',
  ETIMEDOUT: 'timeout',
  EABORT: 'timeout',
  ECONNECTION: 'connection',
  ESOCKET: 'connection',
  EDNS: 'connection',
};
/** Of responses to these commands. */
const COMMAND_CAUSES: Record<string, DeliveryFailure> = {
  'MAIL FROM': 'sender',
  'RCPT TO': 'recipient',
  DATA: 'message',
};

const causeOf = ({ code = '', command = '', responseCode }: Failure): DeliveryFailure =>
  (responseCode && COMMAND_CAUSES[command]) || CAUSES[code] || 'other';

/**
 * Only a response to the recipient or to the message concerns this mail (RFC 5321 §4.2.1). The operator can fix connection, TLS,
 * login and sender.
 */
const isPermanent = ({ command, responseCode = 0 }: Failure): boolean =>
  (command === 'RCPT TO' || command === 'DATA') &&
  responseCode >= 500 &&
  responseCode < 600 &&
  !SESSION_ERRORS.has(responseCode);

/** Redacts secrets and links, because servers may quote what they received. */
const reasonOf = ({ message, code, responseCode }: Failure, login: SmtpServer['login']): string => {
  if (code === 'EAUTH' || code === 'ENOAUTH') {
    return `The mail server refused the login${responseCode ? ` (${responseCode})` : ''}.`;
  }
  const bare = secretsOf(login).reduce((text, secret) => text.replaceAll(secret, REDACTED), message);
  return bare
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/]*@/gi, `$1${REDACTED}@`)
    .replace(/\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s/]+)\/\S+/gi, `$1/${REDACTED}`)
    .replace(/[\w-]{24,}/g, REDACTED)
    .trim();
};

/** The login as it is, and as PLAIN (RFC 4616) and LOGIN encode it. */
const secretsOf = (login: SmtpServer['login']): string[] => {
  if (!login) return [];
  const { user, password } = login;
  const encoded = [`\0${user}\0${password}`, password, user].map((text) =>
    Buffer.from(text).toString('base64'),
  );
  return [...encoded, password, user].filter((secret) => secret.length >= MIN_SECRET_LENGTH);
};
