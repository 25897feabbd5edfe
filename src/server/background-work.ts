import manifest from '../../package.json' with { type: 'json' };
import { openBackupStore } from '../adapters/backup-store/backup-store.ts';
import { openMailer } from '../adapters/mail/mailer.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import type { Config } from '../config/config.ts';
import type { Connection } from '../config/connection.ts';
import type { Em } from '../db/kysely.ts';
import { listenToDatabase } from '../db/pg-listener.ts';
import { type Clock, HOUR_MS } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { SignedLinks } from '../services/auth/signed-links.ts';
import { createMailWorker, MAIL_CHANNEL, MAILS_IN_FLIGHT } from '../services/mail/mail-worker.ts';
import { createMailWriter } from '../services/mail/mail-writer.ts';
import { createOutbox } from '../services/mail/outbox.ts';
import { createScheduler } from './scheduler.ts';

type Deps = {
  config: Config;
  connection: Connection;
  secretKey: string;
  orm: { em: Em };
  links: SignedLinks;
  clock: Clock;
  logger: Logger;
  store: PackageStore;
};

/** Wires the mail components: the writer that services use, and the worker that sends. */
export const createMailModule = async ({ config, connection, orm, links, clock, logger }: Deps) => {
  const { mailServerUrl, mailFrom, mailPerMinute: perMinute, mailRetentionDays: retentionDays } = config;
  const { invitationDays } = config;
  const mailWriter = createMailWriter({ links, mailFrom });
  const outbox = createOutbox({
    em: orm.em,
    clock,
    writer: mailWriter,
    invitationDays,
    perMinute,
    retentionDays,
  });
  const hasServer = mailServerUrl !== undefined;
  const worker = createMailWorker({
    outbox,
    mailer: hasServer ? await openMailer({ url: mailServerUrl, connections: MAILS_IN_FLIGHT }) : null,
    listen: (onHeard) =>
      listenToDatabase({ connection, channel: MAIL_CHANNEL, onHeard, warn: (line) => logger.warn(line) }),
    clock,
    logger,
  });
  return {
    mailWriter,
    mailRoute: { hasServer, perMinute },
    worker,
    /** Deletes old mails. Call it periodically. */
    prune: (): Promise<void> => outbox.prune({ isSent: hasServer }),
  };
};

/** How often to look whether a backup is due. */
const BACKUP_INTERVAL_MS = 60_000;
/** A backup that takes longer has failed, for example because its target does not answer. */
const BACKUP_LIMIT_MS = 24 * HOUR_MS;

/** The scheduler that makes the backups of BACKUP_TARGET; null without it. */
export const createBackupModule = async (deps: Deps) => {
  const { config, connection, secretKey, orm, clock, logger, store: packages } = deps;
  const { target, passphrase } = config.backup;
  if (!target) return null;
  // Loaded only where it is used, as the S3 client is.
  const { runScheduledBackup } = await import('../backup/scheduled-backup.ts');
  const store = await openBackupStore(target);
  const key = passphrase ? { secretKey, passphrase } : null;
  const backup = (signal: AbortSignal) =>
    runScheduledBackup(
      {
        fork: () => orm.em.fork(),
        connection,
        clock,
        logger,
        store,
        packages,
        version: manifest.version,
        key,
        schedule: config.backup,
      },
      signal,
    );
  return createScheduler({
    logger,
    intervalMs: BACKUP_INTERVAL_MS,
    limitMs: BACKUP_LIMIT_MS,
    tasks: { backup },
  });
};
