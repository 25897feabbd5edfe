import { type RawBuilder, sql } from 'kysely';
import type { MailKind } from '../../entities/outbox-mail.ts';
import { createAudit, NO_ORIGIN } from '../../src/services/audit/audit.ts';
import { runInactivity } from '../../src/services/reminders/inactivity.ts';
import {
  enqueueAccessReminders,
  enqueueInvitationReminders,
} from '../../src/services/reminders/reminder-mails.ts';
import { enqueueTokenReminders } from '../../src/services/reminders/token-endings.ts';
import { enqueueDigests } from '../../src/services/reminders/weekly-digest.ts';
import { setRows } from './rows.ts';
import type { TestApp } from './test-app.ts';

/** What an hourly run of one instance does. */
export const runReminders = async (app: TestApp): Promise<void> => {
  const { clock } = app;
  const fork = () => app.orm.em.fork();
  await enqueueAccessReminders({ em: fork(), now: clock.now() });
  await enqueueInvitationReminders({ em: fork(), now: clock.now() });
  await runInactivity({ em: fork(), clock, audit: createAudit(NO_ORIGIN, clock) });
  await enqueueTokenReminders(fork(), clock.now());
  await enqueueDigests(fork(), clock.now());
};

/** The mails of reminders, as `kind recipient`, in order. */
export const remindersIn = async (app: TestApp): Promise<string[]> => {
  const kinds: MailKind[] = [
    ...(['access-ending', 'access-ending-report', 'invitation-reminder'] as const),
    ...(['inactivity-warning', 'weekly-digest', 'token-ending'] as const),
  ];
  const mails = app.db().selectFrom('outbox_mails').select(['kind', 'recipient']).where('kind', 'in', kinds);
  return (await mails.execute()).map(({ kind, recipient }) => `${kind} ${recipient}`).sort();
};

/** As if all mails had been delivered. */
export const deliverAll = (app: TestApp) =>
  setRows(app, 'outbox_mails', { sent_at: null }, { sent_at: app.clock.now() });

/** Forgets all reminders. */
export const forgetReminders = async (app: TestApp): Promise<void> => {
  const statements: RawBuilder<unknown>[] = [
    sql`delete from client_reminders`,
    sql`delete from outbox_mails`,
    sql`update app_grants set expires_at = null, reminded_for = null`,
    sql`update memberships set inactivity_warned_at = null`,
    sql`delete from invitations`,
  ];
  for (const statement of statements) await statement.execute(app.db());
};

/** Of the grants of a person. */
export const endGrants = (app: TestApp, email: string, at: Date, appId?: string) =>
  sql`update app_grants set expires_at = ${at}::timestamptz
    where user_id = (select id from users where email = ${email}) and app_id = coalesce(${appId ?? null}::varchar, app_id)`.execute(
    app.db(),
  );

/** The mail of this kind to a person, as a superuser reads it. */
export const readMail = async (app: TestApp, kind: MailKind, recipient: string) => {
  const { id } = await app
    .db()
    .selectFrom('outbox_mails')
    .select('id')
    .where('kind', '=', kind)
    .where('recipient', '=', recipient)
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow();
  return app.as('root@steward.test').mail.get({ id });
};
