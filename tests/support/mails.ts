import { createSmtpMailer } from '../../src/adapters/mail/smtp-mailer.ts';
import type { Connection } from '../../src/config/connection.ts';
import type { Em } from '../../src/db/kysely.ts';
import { listenToDatabase } from '../../src/db/pg-listener.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createSignedLinks } from '../../src/services/auth/signed-links.ts';
import type { LetterContext } from '../../src/services/mail/mail-context.ts';
import type { MailVariables } from '../../src/services/mail/mail-variables.ts';
import { createMailWorker, MAIL_CHANNEL, MAILS_IN_FLIGHT } from '../../src/services/mail/mail-worker.ts';
import { createMailWriter } from '../../src/services/mail/mail-writer.ts';
import { createOutbox } from '../../src/services/mail/outbox.ts';
import { rowsOf, setRows } from './rows.ts';
import type { TestApp } from './test-app.ts';

export const MAIL_FROM = 'steward@steward.test';
export const INVITATION_DAYS = 14;

export const testWriter = createMailWriter({
  links: createSignedLinks({
    secretKey: 'a secret key that only tests ever use',
    baseUrl: 'http://localhost:8000',
  }),
  mailFrom: MAIL_FROM,
});

type Backend = { em: Em; clock: Clock };
type OutboxSettings = { leaseMs?: number; backoffMs?: number };

const openOutbox = ({ em, clock }: Backend, settings: OutboxSettings = {}) =>
  createOutbox({
    em,
    clock,
    writer: testWriter,
    invitationMs: INVITATION_DAYS * DAY_MS,
    retentionDays: 30,
    ...settings,
  });

type WorkerSettings = OutboxSettings & {
  /** Absent: no mail server. */
  smtpUrl?: string;
  perMinute?: number;
  pollMs?: number;
  retryMs?: number;
  stopMs?: number;
  /** Lines of its log. */
  log?: string[];
};

/** A mail worker as the service creates it, not started yet. */
export const openWorker = (backend: Backend & { connection: Connection }, settings: WorkerSettings = {}) => {
  const { smtpUrl: url, perMinute = 0, pollMs, retryMs, stopMs, log = [], ...rest } = settings;
  const logger = createLogger('debug', { destination: { write: (line) => log.push(line) } });
  return createMailWorker({
    outbox: openOutbox(backend, rest),
    mailer: url ? createSmtpMailer({ url, concurrency: MAILS_IN_FLIGHT }) : null,
    perMinute,
    listen: (onHeard) =>
      listenToDatabase({
        connection: backend.connection,
        fallback: '',
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
const SUPERUSER = 'root@steward.test';

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

export const mailTo = async (app: TestApp, recipient: string) => {
  const [mail] = await rowsOf(app, 'outbox_mails', { recipient });
  if (!mail) throw new Error(`There is no mail to ${recipient}.`);
  return mail;
};

/** Deletes the mails of earlier tests. */
export const emptyOutbox = (app: TestApp) => app.db().deleteFrom('outbox_mails').execute();

type Invited = { email: string; client?: number; apps?: string[]; by?: string };

/** Invites a person and returns the path of the mailed link. */
export const inviteByLink = async (app: TestApp, invited: Invited): Promise<{ id: number; path: string }> => {
  const { email, client = 1, apps = [], by = INVITER } = invited;
  const { id } = await app.as(by).clients.invite({ id: client, email, initial_apps: apps });
  const { url } = await app.as(by).invitations.copyLink({ id });
  return { id, path: pathOf(url) };
};

/** Sends pending mails and returns the path of the user's newest password link. */
export const mailedPasswordPath = async (app: TestApp, email: string): Promise<string> => {
  await app.mailWorker.drain();
  const { id, user_id, created_at } = await app
    .db()
    .selectFrom('password_links')
    .innerJoin('users', 'users.id', 'password_links.user_id')
    .select(['password_links.id', 'password_links.user_id', 'password_links.created_at'])
    .where('users.email', '=', email)
    .orderBy('password_links.id', 'desc')
    .executeTakeFirstOrThrow();
  return pathOf(app.links.passwordLink({ id, userId: user_id, createdAt: created_at }));
};

const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};

const NOON = new Date('2026-11-21T12:00:00.000Z');

const AFTER_INVITATION = '2026-12-05T12:00:00.000Z';

type ContextChanges = Partial<Omit<LetterContext, 'variables'> & MailVariables>;

/** The mail context of an invitation. */
export const invitationContext = (changes: ContextChanges = {}): LetterContext => ({
  id: 7,
  kind: 'invitation',
  recipient: 'ada@guest.test',
  created_at: NOON,
  written_at: NOON,
  invitation_key: 'KEY',
  request_address: null,
  link: null,
  change: null,
  ...changes,
  variables: {
    client_name: 'Acme Analytics',
    invitation_subject: '',
    invitation_body: '',
    default_from_email: '',
    support_email: 'help@acme.test',
    link_expires_at: AFTER_INVITATION,
    app_labels: ['Sales', 'Churn'],
    ...changes,
  },
});

/** The mail context of a password mail of the same client. */
export const passwordContext = (
  kind: 'password-setup' | 'password-reset' | 'password-changed',
  changes: ContextChanges = {},
): LetterContext =>
  invitationContext({
    kind,
    invitation_key: null,
    app_labels: [],
    first_name: 'Ada',
    link: { id: 11, user_id: 5, created_at: NOON.toISOString() },
    link_expires_at: '2026-11-21T13:00:00.000Z',
    ...changes,
  });

/** Whether the person has shown that the address is theirs, as after the first mailed link. */
export const setProved = (app: Pick<TestApp, 'db'>, email: string, is_email_verified = true) =>
  setRows(app, 'users', { email }, { is_email_verified });

/** The token of the latest link about a change of an address that was mailed to this one. */
export const mailedEmailToken = async (
  app: TestApp,
  recipient: string,
  kind: 'confirm' | 'undo',
): Promise<string> => {
  for (const { id } of await app.as(SUPERUSER).mail.list({ recipient })) {
    const { text } = await app.as(SUPERUSER).mail.get({ id });
    const [, token] = new RegExp(`/email/${kind}/\\?token=(\\S+)`).exec(text) ?? [];
    if (token !== undefined) return token;
  }
  throw new Error(`${recipient} got no link`);
};
