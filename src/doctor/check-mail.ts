import { openMailer } from '../adapters/mail/mailer.ts';
import type { Config } from '../config/config.ts';
import { findingsOf } from './finding.ts';

const TIMEOUT_MS = 5_000;

const { ok, warning, failure } = findingsOf('mail');

/** Connects to the mail server and logs in. Sends nothing. */
export const checkMail = async ({ mailServerUrl }: Config) => {
  if (mailServerUrl === undefined)
    return warning('SMTP_URL is not set: mails are stored and not sent.', 'Set SMTP_URL to send them.');
  const { hostname, username } = new URL(mailServerUrl);
  const timeoutsMs = { connection: TIMEOUT_MS, greeting: TIMEOUT_MS, socket: TIMEOUT_MS };
  const mailer = await openMailer({ url: mailServerUrl, connections: 1, timeoutsMs });
  try {
    const reason = await mailer.verify();
    return reason === null
      ? ok(`The mail server ${hostname} accepts ${username ? 'the login' : 'connections'}.`)
      : failure(
          `The mail server ${hostname} cannot be used (${reason}).`,
          'Check SMTP_URL and the firewall.',
        );
  } finally {
    mailer.close();
  }
};
