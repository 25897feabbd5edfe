import { join } from 'node:path';
import { createPasswordHasher } from '../adapters/hashing/password-hasher.ts';
import type { Config } from '../config/config.ts';
import { readSecretFile, SecretFileError } from '../config/secret-file.ts';
import { PUBLISHED_DEMO_PASSWORD } from '../config/settings.ts';
import { type Em, kysely } from '../db/kysely.ts';
import { DAY_MS } from '../lib/clock.ts';
import { formatCount } from '../lib/operator-text.ts';
import { countUnreadableFactors } from '../services/auth/one-time-codes.ts';
import { type RatedKey, rateKeys, readSigningKeys } from '../services/gate/signing-keys.ts';
import { type OperationalState, readOperationalState } from '../services/operational-state.ts';
import { countUnreadableConnections } from '../services/sso/connections.ts';
import { countUnreadableWebhooks } from '../services/webhooks/webhooks.ts';
import { type Finding, failure, findingsOf, ok, type Result, warning } from './finding.ts';

/**
 * Checks the work that the running service should have done on its data, and looks for accounts that must not exist.
 * @param now by the clock of the database, as all stored times
 */
export const checkServiceData = async (em: Em, config: Config, now: Date): Promise<Finding[]> => [
  ...(await checkBacklog(em, config, now)),
  ...(await checkSecrets(em, config, now)),
  ...findingsOf('demo accounts', await checkDemoAccounts(em, config.argon2Concurrency)),
];

/** If the mail server is busy, mails are retried for minutes. */
const MAX_MAIL_AGE_S = 60 * 60;

const checkBacklog = async (em: Em, { backup }: Config, now: Date): Promise<Finding[]> => {
  const state = await readOperationalState(em, now);
  const { unsentMails, oldestUnsentMailSeconds, usageMonthsAhead, sinks } = state;
  const waiting = formatCount(unsentMails, 'mail waits', 'mails wait');
  const mails =
    oldestUnsentMailSeconds > MAX_MAIL_AGE_S
      ? warning(
          `${waiting}, the oldest for ${Math.floor(oldestUnsentMailSeconds / 3600)} h.`,
          'The list of mails shows the reason of each: see docs/users.md.',
        )
      : ok(`${waiting} to be sent.`);
  const months = usageMonthsAhead === 1 ? 'month' : `${usageMonthsAhead} months`;
  const log =
    usageMonthsAhead === 0
      ? warning(
          'The usage log has no partition for next month.',
          'Start the service: its hourly maintenance creates one. If it runs, its log has the reason.',
        )
      : ok(`The usage log has partitions for the next ${months}.`);
  return [
    ...findingsOf('unsent mails', mails),
    ...findingsOf('usage log', log),
    ...findingsOf('backups', judgeBackups(state, backup.target && backup.intervalHours)),
    ...findingsOf('event sinks', sinks.map(judgeSink)),
  ];
};

/** As in the alert of `deploy/prometheus/alerts.yml`. */
const MAX_SINK_LAG_S = 15 * 60;

type Sink = OperationalState['sinks'][number];

const judgeSink = ({ name, eventsBehind, secondsBehind, lastError }: Sink): Result => {
  const message = `${formatCount(eventsBehind, 'event waits', 'events wait')} for the sink ${name}`;
  if (secondsBehind <= MAX_SINK_LAG_S) return ok(`${message}.`);
  const cause = lastError === null ? '' : ` (${lastError})`;
  return warning(
    `${message}, the oldest for ${formatCount(Math.floor(secondsBehind / 60), 'minute')}${cause}.`,
    'Start the service where the sink is set. If it runs, check the receiver: see docs/sinks.md.',
  );
};

const checkSecrets = async (em: Em, config: Config, now: Date): Promise<Finding[]> => {
  const secretKey = config.secretKey ?? (await readSecretKey(config.dataDir));
  if (secretKey === null) return [];
  const keys = rateKeys(await readSigningKeys(em, secretKey), now);
  const findings = findingsOf('signing keys', judgeSigningKeys(keys, now, config.signingKeyDays));
  for (const [check, what, count, otherwise] of SEALED) {
    const unreadable = await count(em, secretKey);
    if (unreadable === 0) continue;
    const message = `${what} that SECRET_KEY does not decrypt: ${unreadable}.`;
    const action = `Restore the SECRET_KEY that they were stored with${otherwise}`;
    findings.push(...findingsOf(check, warning(message, action)));
  }
  return findings;
};

const SEALED = [
  [
    ...(['second factors', 'Second factors', countUnreadableFactors] as const),
    '. If it is lost, their owners log in with a recovery code, or an admin resets them.',
  ],
  [
    ...(['single sign-on', 'Connections whose secret', countUnreadableConnections] as const),
    ', or enter their secrets again.',
  ],
  ['webhooks', 'Webhooks whose secret', countUnreadableWebhooks, ', or rotate their secrets.'],
] as const;

/** Null if the key is missing or cannot be used; the check of the secret key reports that. */
const readSecretKey = async (dataDir: string): Promise<string | null> => {
  try {
    return await readSecretFile(join(dataDir, 'secret-key'), '');
  } catch (error) {
    if (error instanceof SecretFileError) return null;
    throw error;
  }
};

type Key = Pick<RatedKey, 'created_at' | 'state'>;

/** The running service replaces keys every hour. */
const LATE_MS = DAY_MS;

/** @param keys newest first */
export const judgeSigningKeys = (keys: readonly Key[], now: Date, signingKeyDays: number): Result => {
  const unreadable = keys.filter(({ state }) => state === 'unreadable');
  const usable = keys.filter(({ state }) => state !== 'unreadable' && state !== 'retired');
  const [newest] = usable;
  if (unreadable.length > 0)
    return warning(
      `Signing keys that SECRET_KEY does not decrypt: ${unreadable.length}.`,
      newest
        ? 'Expected for some minutes after a change of SECRET_KEY. Otherwise, give all instances the same one.'
        : 'Restore the SECRET_KEY of the service: with another one, it creates another key, and apps refuse older tickets.',
    );
  if (!newest) return ok('The service creates the key that signs tickets when it starts.');
  if (!keys.some(({ state }) => state === 'signing'))
    return failure(
      'No key signs tickets yet, so no app can be opened.',
      'Check the clock of the database: it was ahead when the keys were created.',
    );
  const ageMs = now.getTime() - newest.created_at.getTime();
  const message = `The newest key that signs tickets is ${formatCount(Math.floor(ageMs / DAY_MS), 'day')} old.`;
  return ageMs > signingKeyDays * DAY_MS + LATE_MS
    ? warning(
        `${message} SIGNING_KEY_DAYS is ${signingKeyDays}.`,
        'Start the service: its hourly maintenance replaces it. If it runs, its log has the reason.',
      )
    : ok(message);
};

type BackupState = { backupAgeSeconds: number | null; backupFailures: number };

const SECONDS_PER_HOUR = 60 * 60;
/** In intervals, as in the alert of `deploy/prometheus/alerts.yml`. */
const OVERDUE = 1.5;
const ACTION = 'The log of the service and the table `backups` have the reason. Check BACKUP_TARGET.';

/** @param intervalHours null if no backups are scheduled */
export const judgeBackups = (
  { backupAgeSeconds: ageSeconds, backupFailures: failures }: BackupState,
  intervalHours: number | null,
): Result => {
  if (intervalHours === null)
    return warning('No backups are scheduled.', 'Set BACKUP_TARGET: see docs/backup.md.');
  if (failures > 0)
    return warning(`Scheduled backups that failed since the last good one: ${failures}.`, ACTION);
  if (ageSeconds === null)
    return warning('There is no scheduled backup yet.', 'Start the service: it makes the first one at once.');
  const message = `The last scheduled backup is ${Math.floor(ageSeconds / SECONDS_PER_HOUR)} h old.`;
  return ageSeconds > OVERDUE * intervalHours * SECONDS_PER_HOUR
    ? warning(message, `Start the service. ${ACTION}`)
    : ok(message);
};

/** Limit of checked accounts, because each needs a password hash (30 ms). The accounts with the most rights come first. */
const MAX_CHECKED = 20;

/** Whether an account of the demo workspace accepts the password that the documentation publishes. */
const checkDemoAccounts = async (em: Em, concurrency: number): Promise<Result[]> => {
  const accounts = await kysely(em)
    .selectFrom('users')
    .select(['email', 'password_hash', 'is_superuser'])
    // Matches all people of the demo and nobody else, because this top-level domain is reserved.
    .where('email', 'like', '%.test')
    .where('is_active', '=', true)
    .where('password_hash', 'is not', null)
    .orderBy('is_superuser', 'desc')
    .orderBy('is_staff', 'desc')
    .orderBy('id')
    .limit(MAX_CHECKED)
    .execute();
  if (accounts.length === 0) return [];
  const hasher = await createPasswordHasher(concurrency);
  for (const { email, password_hash, is_superuser } of accounts) {
    if (!(await hasher.verify(password_hash, PUBLISHED_DEMO_PASSWORD))) continue;
    return [
      warning(
        `${email}${is_superuser ? ', a superuser,' : ''} accepts the published password of the demo.`,
        'Start a service for real data with an empty database. For a demo that others reach, set DEMO_PASSWORD before its first start.',
      ),
    ];
  }
  return [];
};
