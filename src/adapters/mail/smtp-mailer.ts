import { createTransport, type NodemailerError } from 'nodemailer';
import { reasonOf } from '../../lib/errno.ts';
import { isLoopback } from '../../lib/ip-networks.ts';
import type { DeliveryFailure } from '../../lib/telemetry.ts';
import { hostOf } from '../../lib/urls.ts';
import { type Delivery, type Mail, type Mailer, type MailerOptions, reasonFrom } from './mailer.ts';

/** `mail` limits a whole attempt: a slow server could extend it indefinitely. */
const TIMEOUTS_MS = { connection: 10_000, greeting: 10_000, socket: 30_000, mail: 120_000 };
/** Limit of each step. */
const VERIFY_TIMEOUT_MS = 5_000;
/** A closed socket waits this long for the server to close its end. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Retries on another connection if a pooled one was already closed. */
const MAX_REQUEUES = 2;

type SmtpOptions = MailerOptions & { timeoutsMs?: Partial<typeof TIMEOUTS_MS> };

/** Sends mails by SMTP, over a pool of `concurrency` connections. */
export const createSmtpMailer = ({ url, concurrency, timeoutsMs }: SmtpOptions): Mailer => {
  const server = readSmtpUrl(url);
  const limits = { ...TIMEOUTS_MS, ...timeoutsMs };
  const options = {
    host: server.host,
    port: server.port,
    secure: server.isSecure,
    // Before the password is sent to another machine.
    requireTLS: server.login !== null && !isLoopback(server.host),
    ...(server.login && { auth: { user: server.login.user, pass: server.login.password } }),
    socketCloseTimeout: CLOSE_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  const transport = createTransport({
    ...options,
    pool: true,
    maxConnections: concurrency,
    maxRequeues: MAX_REQUEUES,
    connectionTimeout: limits.connection,
    greetingTimeout: limits.greeting,
    socketTimeout: limits.socket,
  });

  return {
    send: async (mail) => {
      try {
        const message = { ...messageOf(mail), signal: AbortSignal.timeout(limits.mail) };
        await transport.sendMail(message);
        return { outcome: 'taken' };
      } catch (error) {
        return deliveryOfFailure(error, server);
      }
    },

    verify: async () => {
      try {
        await createTransport({
          ...options,
          connectionTimeout: VERIFY_TIMEOUT_MS,
          greetingTimeout: VERIFY_TIMEOUT_MS,
          socketTimeout: VERIFY_TIMEOUT_MS,
        }).verify();
        return { accepted: server.login === null ? 'connection' : 'login' };
      } catch (error) {
        return { reason: describe(failureOf(error), server) };
      }
    },

    close: () => transport.close({ force: true }),
  };
};

/** Passes addresses as objects and the envelope separately, so that nodemailer parses no text as addresses. */
const messageOf = ({ messageId, date, from, to, subject, text, html, headers }: Mail) => ({
  envelope: { from: from.address, to: [to] },
  from,
  to: { name: '', address: to },
  subject,
  text,
  html,
  date,
  messageId: `<${messageId}>`,
  headers: { ...headers },
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
  const server = new URL(url);
  const { protocol, port, username, password } = server;
  return {
    host: hostOf(server),
    port: port === '' ? undefined : Number(port),
    isSecure: protocol === 'smtps:',
    login:
      username === '' ? null : { user: decodeURIComponent(username), password: decodeURIComponent(password) },
  };
};

/** Bad sequence of commands, and missing login or TLS (RFC 4954 §6, RFC 3207 §4): the mail is not the cause. */
const SESSION_ERRORS = new Set([503, 530]);

type Failure = Error & Partial<NodemailerError>;

/** Whether a failed attempt should be retried, and a reason that may be shown to administrators. */
export const deliveryOfFailure = (error: unknown, server: SmtpServer): Delivery => ({
  outcome: isPermanent(failureOf(error)) ? 'refused' : 'failed',
  cause: causeOf(failureOf(error)),
  reason: describe(failureOf(error), server),
});

const failureOf = (error: unknown): Failure =>
  error instanceof Error ? error : new Error('The mail could not be sent.');

/** By codes of nodemailer and of Node's sockets. */
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
/** By the command to which the server responded with an error. */
const COMMAND_CAUSES: Record<string, DeliveryFailure> = {
  'MAIL FROM': 'sender',
  'RCPT TO': 'recipient',
  DATA: 'message',
};

const causeOf = ({ code = '', command = '', responseCode }: Failure): DeliveryFailure =>
  (responseCode && COMMAND_CAUSES[command]) || CAUSES[code] || 'other';

/** RFC 3463 §3: the address of the recipient (5.1.7 and 5.1.8 are about the sender's), and a mailbox that is disabled or full. */
const ABOUT_RECIPIENT = /^5\d\d[ -]5\.(1\.(?![78]\b)\d+|2\.[12])\b/;
const ENHANCED = /^\d{3}[ -]\d\.\d{1,3}\.\d{1,3}\b/;

/**
 * Only an error about the recipient is final. Relay, quota, policy, greylisting, login and sender concern all mails: the operator can fix
 * them, and then the mail is sent.
 */
const isPermanent = ({ command, responseCode = 0, response = '' }: Failure): boolean => {
  if (command !== 'RCPT TO' && command !== 'DATA') return false;
  if (ENHANCED.test(response)) return ABOUT_RECIPIENT.test(response);
  return (
    command === 'RCPT TO' && responseCode >= 500 && responseCode < 600 && !SESSION_ERRORS.has(responseCode)
  );
};

/** Why the server cannot be used or has refused a mail. */
const describe = (failure: Failure, { login }: SmtpServer): string => {
  const { code, responseCode } = failure;
  return code === 'EAUTH' || code === 'ENOAUTH'
    ? `The mail server refused the login${responseCode ? ` (${responseCode})` : ''}.`
    : reasonFrom(reasonOf(failure), secretsOf(login));
};

/** The login in plain text, and as PLAIN (RFC 4616) and LOGIN encode it. */
const secretsOf = (login: SmtpServer['login']): string[] => {
  if (!login) return [];
  const { user, password } = login;
  const encoded = [`\0${user}\0${password}`, password, user].map((text) =>
    Buffer.from(text).toString('base64'),
  );
  return [...encoded, password, user];
};
