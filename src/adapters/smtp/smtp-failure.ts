import type { NodemailerError } from 'nodemailer';
import type { DeliveryFailure } from '../../lib/telemetry.ts';
import type { Delivery, SmtpServer } from './smtp-mailer.ts';

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
export const reasonOfFailure = (error: unknown, { login }: SmtpServer): string =>
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
