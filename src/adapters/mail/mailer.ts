import type { DeliveryFailure } from '../../lib/telemetry.ts';

/** A rendered mail. Header values must be single lines. */
export type Mail = {
  /** Without angle brackets. All attempts have the same id, so that mail programs recognize duplicates. */
  messageId: string;
  date: Date;
  /** `name` is one line of text, `address` one valid address. */
  from: { name: string; address: string };
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Further headers, sent unchanged. */
  headers: Readonly<Record<string, string>>;
};

/** `refused` is permanent, `failed` temporary. `reason` is from `reasonFrom`, so that administrators may read it. */
export type Delivery =
  | { outcome: 'taken' }
  | { outcome: 'failed' | 'refused'; cause: DeliveryFailure; reason: string };

/** What the server accepted, or the `reason` of a failure, from `reasonFrom`. */
type Verification = { accepted: 'login' | 'connection' } | { reason: string };

/** Hands mails to a mail server. Does not log. */
export type Mailer = {
  /** Sends a mail. Never rejects. */
  send: (mail: Mail) => Promise<Delivery>;
  /** Connects, and logs in if a login is configured, without sending a mail. Gives up if the server does not answer for 5 s. */
  verify: () => Promise<Verification>;
  /** Closes all connections. Running deliveries fail, although the server may have accepted the mail. */
  close: () => void;
};

/** `concurrency`: how many mails are sent at the same time. */
export type MailerOptions = { url: string; concurrency: number };

/** Opens the mailer of a URL. Loaded only if a mail server is configured: nodemailer takes 15 MB and 100 ms. */
export const openMailer = async (options: MailerOptions): Promise<Mailer> => {
  const { createSmtpMailer } = await import('./smtp-mailer.ts');
  return createSmtpMailer(options);
};

/** The size of the column. */
const MAX_REASON_LENGTH = 500;
/** Redacting shorter secrets would remove parts of words, and the gaps would reveal the secret. */
const MIN_SECRET_LENGTH = 4;
const REDACTED = '[…]';

/** The message of a failure in one line of at most 500 characters, without links and without these secrets: servers may quote them. */
export const reasonFrom = (message: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .reduce((text, secret) => text.replaceAll(secret, REDACTED), message)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/]*@/gi, `$1${REDACTED}@`)
    .replace(/\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s/]+)\/\S+/gi, `$1/${REDACTED}`)
    .replace(/[\w-]{24,}/g, REDACTED)
    .trim()
    .slice(0, MAX_REASON_LENGTH);
