import type { DeliveryFailure } from '../../lib/telemetry.ts';

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

/** Hands mails to a mail server. Does not log. */
export type Mailer = {
  /** Sends a mail. Never rejects. */
  send: (mail: Mail) => Promise<Delivery>;
  /**
   * Connects and logs in without sending a mail.
   * @returns null, or the reason of a failure, without secrets
   */
  verify: () => Promise<string | null>;
  /** Closes all connections. Running deliveries fail, although the server may have accepted the mail. */
  close: () => void;
};

/** In milliseconds. `mail` limits a whole attempt: a slow server could extend it indefinitely. */
export type MailTimeouts = { connection: number; greeting: number; socket: number; mail: number };

export type MailerOptions = { url: string; connections: number; timeoutsMs?: Partial<MailTimeouts> };

/** The mailer for the protocol of the URL. Loaded when there is a mail server: nodemailer takes 15 MB and 100 ms. */
export const openMailer = async (options: MailerOptions): Promise<Mailer> => {
  const { createSmtpMailer } = await import('./smtp-mailer.ts');
  return createSmtpMailer(options);
};
