import { openMailer } from '../adapters/mail/mailer.ts';
import type { Config } from '../config/config.ts';
import type { Connection } from '../config/connection.ts';
import type { Db } from '../db/kysely.ts';
import { listenToDatabase } from '../db/pg-listener.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { SignedLinks } from '../services/auth/signed-links.ts';
import { createMailWorker, MAIL_CHANNEL, MAILS_IN_FLIGHT } from '../services/mail/mail-worker.ts';
import { createMailWriter } from '../services/mail/mail-writer.ts';
import { createOutbox } from '../services/mail/outbox.ts';

type Deps = {
  config: Pick<
    Config,
    'mailServerUrl' | 'mailFrom' | 'mailPerMinute' | 'mailRetentionDays' | 'invitationDays'
  >;
  connection: Connection;
  em: Db;
  links: SignedLinks;
  clock: Clock;
  logger: Logger;
};

/** Wires the mail components: the writer that services use, and the worker that sends. */
export const createMailModule = async ({ config, connection, em, links, clock, logger }: Deps) => {
  const { mailServerUrl, mailFrom, mailPerMinute: perMinute, mailRetentionDays: retentionDays } = config;
  const { invitationDays } = config;
  const mailWriter = createMailWriter({ links, mailFrom, invitationDays });
  const outbox = createOutbox({ em, clock, writer: mailWriter, invitationDays, perMinute, retentionDays });
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
