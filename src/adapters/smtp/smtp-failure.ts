import type { NodemailerError } from 'nodemailer';
import type { Delivery } from './mailer.ts';
import type { SmtpServer } from './smtp-mailer.ts';

/** What the column holds. */
const MAX_REASON_LENGTH = 500;
/** Shorter ones would be struck out of the middle of words, and so be told by the gaps. */
const MIN_SECRET_LENGTH = 4;
const STRUCK = '[…]';

/** Bad sequence of commands, and a login or TLS that is missing (RFC 4954 §6, RFC 3207 §4): not the mail's fault. */
const OF_THE_SESSION = new Set([503, 530]);

type Failure = Pick<NodemailerError, 'message'> & Partial<NodemailerError>;

/** What a failed try means: whether another one makes sense, and a reason that may be shown to administrators. */
export const deliveryOfFailure = (error: unknown, { login }: SmtpServer): Delivery => {
  const failure: Failure = error instanceof Error ? error : { message: 'The mail could not be sent.' };
  return {
    outcome: isForGood(failure) ? 'refused' : 'failed',
    reason: reasonOf(failure, login).slice(0, MAX_REASON_LENGTH),
  };
};

/**
 * Only an answer to the recipient or to the message itself says something about this mail (RFC 5321 §4.2.1).
 * Connection, TLS, login and sender are the operator's to mend, whatever the server calls them.
 */
const isForGood = ({ command, responseCode = 0 }: Failure): boolean =>
  (command === 'RCPT TO' || command === 'DATA') &&
  responseCode >= 500 &&
  responseCode < 600 &&
  !OF_THE_SESSION.has(responseCode);

/** Servers like to repeat what they were sent. */
const reasonOf = ({ message, code, responseCode }: Failure, login: SmtpServer['login']): string => {
  if (code === 'EAUTH' || code === 'ENOAUTH') {
    return `The mail server refused the login${responseCode ? ` (${responseCode})` : ''}.`;
  }
  const bare = secretsOf(login).reduce((text, secret) => text.replaceAll(secret, STRUCK), message);
  return bare
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/]*@/gi, `$1${STRUCK}@`)
    .replace(/\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s/]+)\/\S+/gi, `$1/${STRUCK}`)
    .replace(/[\w-]{24,}/g, STRUCK)
    .trim();
};

/** The login in every form in which it crosses the wire: as it is, and as PLAIN (RFC 4616) and LOGIN encode it. */
const secretsOf = (login: SmtpServer['login']): string[] => {
  if (!login) return [];
  const { user, password } = login;
  const encoded = [`\0${user}\0${password}`, password, user].map((text) =>
    Buffer.from(text).toString('base64'),
  );
  return [...encoded, password, user].filter((secret) => secret.length >= MIN_SECRET_LENGTH);
};
