import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { createSmtpMailer, type SmtpTimeouts } from '../../src/adapters/smtp/smtp-mailer.ts';
import type { Connection } from '../../src/config/connection.ts';
import { listenToDatabase } from '../../src/db/pg-listener.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createSignedLinks } from '../../src/services/auth/signed-links.ts';
import { createMailWorker, MAIL_CHANNEL, MAILS_IN_FLIGHT } from '../../src/services/mail/mail-worker.ts';
import { createMailWriter } from '../../src/services/mail/mail-writer.ts';
import { createOutbox } from '../../src/services/mail/outbox.ts';
import type { TestApp } from './test-app.ts';

export const MAIL_FROM = 'steward@steward.test';
export const INVITATION_DAYS = 14;

export const testWriter = createMailWriter({
  links: createSignedLinks({
    secretKey: 'a secret key that only tests ever use',
    baseUrl: 'http://localhost:8000',
  }),
  mailFrom: MAIL_FROM,
  invitationDays: INVITATION_DAYS,
});

type Backend = { em: SqlEntityManager; clock: Clock };
type OutboxSettings = { perMinute?: number; leaseMs?: number; backoffMs?: number };

const openOutbox = ({ em, clock }: Backend, settings: OutboxSettings = {}) =>
  createOutbox({
    em,
    clock,
    writer: testWriter,
    invitationDays: INVITATION_DAYS,
    perMinute: 0,
    retentionDays: 30,
    ...settings,
  });

type WorkerSettings = OutboxSettings & {
  /** Absent: no mail server. */
  smtpUrl?: string;
  timeoutsMs?: Partial<SmtpTimeouts>;
  pollMs?: number;
  retryMs?: number;
  stopMs?: number;
  /** Lines of its log. */
  log?: string[];
};

/** A mail worker as the service creates it, not started yet. */
export const openWorker = (backend: Backend & { connection: Connection }, settings: WorkerSettings = {}) => {
  const { smtpUrl: url, timeoutsMs = {}, pollMs, retryMs, stopMs, log = [], ...rest } = settings;
  const logger = createLogger('debug', { destination: { write: (line) => log.push(line) } });
  return createMailWorker({
    outbox: openOutbox(backend, rest),
    mailer: url ? createSmtpMailer({ url, connections: MAILS_IN_FLIGHT, timeoutsMs }) : null,
    listen: (onHeard) =>
      listenToDatabase({
        connection: backend.connection,
        channel: MAIL_CHANNEL,
        onHeard,
        warn: (line) => logger.warn(line),
      }),
    clock: backend.clock,
    logger,
    ...(pollMs !== undefined && { pollMs }),
    ...(retryMs !== undefined && { retryMs }),
    ...(stopMs !== undefined && { stopMs }),
  });
};

/** The database and the clock of the app. */
export const backendOf = ({ orm, clock, connection }: TestApp) => ({ em: orm.em, clock, connection });

/** Not imported from `test-app.ts`, so that a worker process does not load the whole service. */
const INVITER = 'admin@acme.test';

/** The outbox of the app, with the settings of the test. */
export const outboxOf = (app: TestApp, settings: OutboxSettings = {}) => openOutbox(backendOf(app), settings);

let invited = 0;

/** Invites new people to the first demo client and returns their addresses. */
export const invite = async (app: TestApp, count: number): Promise<string[]> => {
  const emails = Array.from({ length: count }, () => `guest-${++invited}@guest.test`);
  const items = emails.map((email) => ({ email, client: 1, initial_apps: ['zylTKNVx'] }));
  await app.as(INVITER).invitations.create({ items });
  return emails;
};

export const mailTo = (app: TestApp, recipient: string) =>
  app
    .db()
    .selectFrom('outbox_mails')
    .selectAll()
    .where('recipient', '=', recipient)
    .executeTakeFirstOrThrow();

/** Deletes the mails of earlier tests. */
export const emptyOutbox = (app: TestApp) => app.db().deleteFrom('outbox_mails').execute();
