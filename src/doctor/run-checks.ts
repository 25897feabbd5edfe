import { openMailer } from '../adapters/mail/mailer.ts';
import { type Config, InvalidSettings, readConfig } from '../config/config.ts';
import { Settings } from '../config/settings.ts';
import { reasonOf } from '../lib/errno.ts';
import { checkDatabase } from './check-database.ts';
import { checkPublicUrl } from './check-public-url.ts';
import { checkSettings } from './check-settings.ts';
import { checkDataDir, checkPackageStore } from './check-storage.ts';
import { type Finding, findingsOf } from './finding.ts';

/** Runs all checks at the same time. With invalid settings, nothing else can be checked. */
export const runChecks = async (env: NodeJS.ProcessEnv): Promise<Finding[]> => {
  const config = readSettings(env);
  if (Array.isArray(config)) return config;
  const checks: Record<string, Promise<Finding | Finding[]>> = {
    settings: Promise.resolve(checkSettings(config, env, Object.keys(Settings.shape))),
    'data folder': checkDataDir(config),
    database: checkDatabase(config),
    'package store': checkPackageStore(config),
    mail: checkMail(config),
    'public URL': checkPublicUrl(config, Boolean(env.BASE_URL)),
  };
  const findings = Object.entries(checks).map(([check, running]) =>
    running.catch((error: unknown) =>
      findingsOf(check).failure(`The check failed (${reasonOf(error)}).`, 'Report this message.'),
    ),
  );
  return (await Promise.all(findings)).flat();
};

const readSettings = (env: NodeJS.ProcessEnv): Config | Finding[] => {
  try {
    return readConfig(env);
  } catch (error) {
    if (!(error instanceof InvalidSettings)) throw error;
    const { failure } = findingsOf('settings');
    const action = 'See docs/settings.md. All other checks need valid settings.';
    return error.lines.map((line) => failure(`Invalid setting ${line}.`, action));
  }
};

const ACCEPTED = { login: 'the login', connection: 'connections' };

/** Connects to the mail server and logs in. Sends nothing. */
const checkMail = async ({ mailServerUrl }: Config): Promise<Finding> => {
  const { ok, warning, failure } = findingsOf('mail');
  if (mailServerUrl === undefined)
    return warning('SMTP_URL is not set: mails are stored and not sent.', 'Set SMTP_URL to send them.');
  const { hostname } = new URL(mailServerUrl);
  const mailer = await openMailer({ url: mailServerUrl, concurrency: 1 });
  try {
    const result = await mailer.verify();
    return 'accepted' in result
      ? ok(`The mail server ${hostname} accepts ${ACCEPTED[result.accepted]}.`)
      : failure(
          `The mail server ${hostname} cannot be used (${result.reason}).`,
          'Check SMTP_URL and the firewall.',
        );
  } finally {
    mailer.close();
  }
};
