import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCluster } from '../adapters/embedded-postgres/index.ts';
import { openMailer } from '../adapters/mail/mailer.ts';
import { probePackageStore } from '../adapters/package-store/package-store.ts';
import { type Config, InvalidSettings, readConfig } from '../config/config.ts';
import { nullIfMissing, reasonOf } from '../lib/errno.ts';
import { closestExisting, probeFolder } from '../lib/files.ts';
import { checkDatabase } from './check-database.ts';
import { checkPublicUrl } from './check-public-url.ts';
import { checkSettings } from './check-settings.ts';
import { type Finding, failure, findingsOf, ok, type Result, warning } from './finding.ts';

/** Runs all checks at the same time. With invalid settings, nothing else can be checked. */
export const runChecks = async (env: NodeJS.ProcessEnv): Promise<Finding[]> => {
  const config = readSettings(env);
  if (Array.isArray(config)) return config;
  const checks: Record<string, Promise<Result | Result[]>> = {
    settings: Promise.resolve(checkSettings(config, env)),
    'data folder': checkDataDir(config),
    database: checkDatabase(config),
    'package store': checkPackageStore(config),
    mail: checkMail(config),
    'public URL': checkPublicUrl(config, Boolean(env.BASE_URL)),
  };
  const findings = Object.entries(checks).map(async ([check, running]) => {
    const results = await running.catch((error: unknown) =>
      failure(`The check failed (${reasonOf(error)}).`, 'If the message does not say why, report it.'),
    );
    return findingsOf(check, results);
  });
  return (await Promise.all(findings)).flat();
};

const readSettings = (env: NodeJS.ProcessEnv): Config | Finding[] => {
  try {
    return readConfig(env);
  } catch (error) {
    if (!(error instanceof InvalidSettings)) throw error;
    const action = 'See docs/settings.md. All other checks need valid settings.';
    const results = error.lines.map((line) => failure(`Invalid setting ${line}.`, action));
    return findingsOf('settings', results);
  }
};

const ACCEPTED = { login: 'the login', connection: 'connections' };

/** Connects to the mail server and logs in. Sends nothing. */
const checkMail = async ({ mailServerUrl }: Config): Promise<Result> => {
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

const MIB = 1024 * 1024;
/** PostgreSQL's `max_wal_size` is 1 GiB, and migrations copy tables. */
const LOW_BYTES = 2048 * MIB;
/** A few WAL segments of 16 MiB: PostgreSQL stops when it cannot create another. */
const FULL_BYTES = 256 * MIB;

const checkDataDir = async ({ dataDir, secretKey, database }: Config): Promise<Result[]> => {
  const folder = await checkFolder('DATA_DIR', dataDir);
  if (secretKey !== undefined || database) return [folder];
  return [folder, ...findingsOf('secret key', await checkSecretKey(dataDir))];
};

/** Reports one finding for a folder that the service writes to, and creates if it is missing. */
const checkFolder = async (setting: string, folder: string): Promise<Result> => {
  try {
    await probeFolder(folder);
  } catch (error) {
    return failure(
      `${folder} cannot be written by uid ${process.getuid?.()} (${reasonOf(error)}).`,
      `Make it writable, or set another ${setting}.`,
    );
  }
  const { bavail, bsize } = await statfs(await closestExisting(folder));
  const free = bavail * bsize;
  const message = `${folder} has ${formatBytes(free)} of free disk space.`;
  const action =
    'Free space or enlarge the disk: without space, writes fail and the embedded database stops.';
  if (free < FULL_BYTES) return failure(message, action);
  return free < LOW_BYTES ? warning(message, action) : ok(message);
};

const formatBytes = (bytes: number): string =>
  bytes < 1024 * MIB ? `${Math.floor(bytes / MIB)} MiB` : `${(bytes / (1024 * MIB)).toFixed(1)} GiB`;

/** A key that others can read stops the start, but a missing one is replaced silently. */
const checkSecretKey = async (dataDir: string): Promise<Result | []> => {
  const path = join(dataDir, 'secret-key');
  if ((await nullIfMissing(stat(path))) !== null || !(await hasCluster(dataDir))) return [];
  return warning(
    `${path} is missing: the next start creates another key, and links in mails that were sent stop working.`,
    'Restore the file from a backup.',
  );
};

/** Whether packages can be read from the store and published to it. */
const checkPackageStore = async ({ appStore, dataDir }: Config) => {
  const location = appStore.kind === 's3' ? `s3://${appStore.bucket}/${appStore.prefix}` : appStore.dir;
  const { readError, writeError } = await probePackageStore(appStore);
  if (readError !== null)
    return failure(
      `${location} cannot be read (${reasonOf(readError)}).`,
      'Check APP_STORE and its credentials.',
    );
  const hasOwnDisk = appStore.kind === 'folder' && !appStore.dir.startsWith(dataDir);
  const space = hasOwnDisk ? [await checkFolder('APP_STORE', appStore.dir)] : [];
  if (writeError === null) return [ok(`${location} can be read and written.`), ...space];
  return warning(
    `${location} can be read, but not written (${reasonOf(writeError)}).`,
    `${appStore.kind === 's3' ? 'Use other credentials' : 'Make it writable'} for \`steward apps publish\`; the service itself only reads.`,
  );
};
