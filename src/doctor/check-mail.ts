import { createSmtpMailer, readSmtpUrl } from '../adapters/smtp/smtp-mailer.ts';
import type { Config } from '../config/config.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

const TIMEOUT_MS = 5_000;

/** Connects to the mail server and logs in. Sends nothing. */
export const checkMail = async ({ smtpUrl }: Config): Promise<Finding[]> => {
  const check = 'mail';
  if (smtpUrl === undefined)
    return [
      warning(check, 'SMTP_URL is not set: mails are stored and not sent.', 'Set SMTP_URL to send them.'),
    ];
  const { host, login } = readSmtpUrl(smtpUrl);
  const timeoutsMs = { connection: TIMEOUT_MS, greeting: TIMEOUT_MS, socket: TIMEOUT_MS };
  const mailer = createSmtpMailer({ url: smtpUrl, connections: 1, timeoutsMs });
  try {
    const reason = await mailer.verify();
    if (reason !== null)
      return [
        failure(
          check,
          `The mail server ${host} cannot be used (${reason}).`,
          'Check SMTP_URL and the firewall.',
        ),
      ];
    return [ok(check, `The mail server ${host} accepts ${login ? 'the login' : 'connections'}.`)];
  } finally {
    mailer.close();
  }
};
