import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../../src/lib/clock.ts';
import { backendOf, emptyOutbox, invite, mailTo, openWorker } from '../../support/mails.ts';
import { parseMail, startSmtpServer, type TestSmtpServer } from '../../support/smtp-server.ts';
import { suite } from '../../support/suite.ts';
import { ACME, ADA, startTestApp, type TestApp } from '../../support/test-app.ts';
import { until } from '../../support/time.ts';

type Context = { app: TestApp; smtp: TestSmtpServer };
type Settings = NonNullable<Parameters<typeof openWorker>[1]>;

const MINUTES_MS = 300_000;

const workers = suite<Context>('mail worker');

workers.before(async (context) => {
  context.app = await startTestApp();
});
workers.after(({ app }) => app.close());
workers.before.each(async (context) => {
  await emptyOutbox(context.app);
  context.smtp = await startSmtpServer();
});
workers.after.each(({ smtp }) => smtp.close());

const workerOf = ({ app, smtp }: Context, settings: Settings = {}) =>
  openWorker(backendOf(app), { smtpUrl: smtp.url, pollMs: MINUTES_MS, ...settings });

const isSent = async (app: TestApp, email: string) => (await mailTo(app, email)).sent_at !== null;

workers('sends due mails in the name of the client, and counts them', async (context) => {
  const { app, smtp } = context;
  const [email = ''] = await invite(app, 1);
  const worker = openWorker(backendOf(app), { smtpUrl: smtp.url });

  await worker.drain();
  await worker.stop();

  const [taken] = smtp.taken;
  if (!taken) return assert.unreachable();
  const mail = await parseMail(taken);
  const invitation = await app
    .db()
    .selectFrom('invitations')
    .select(['key', 'email_count'])
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  const signature = /signature=([\w-]{43})/.exec(mail.text ?? '')?.[1] ?? '';
  assert.equal(taken.to, [email]);
  assert.is(mail.from?.name, 'Acme Analytics');
  assert.is(invitation.email_count, 1);
  const opened = await app.as(null).invitations.preview({ key: invitation.key, signature });
  assert.is(opened.email, email);
});

workers('begins no more mails in a minute than its limit', async (context) => {
  const { app, smtp } = context;
  await invite(app, 5);
  const worker = workerOf(context, { perMinute: 2, pollMs: 50 });
  worker.start();
  for (const sent of [2, 4, 5]) {
    await until(`${sent} mails are sent`, async () => smtp.taken.length === sent);
    await pause(500);
    assert.is(smtp.taken.length, sent);
    app.clock.advance(MINUTE_MS);
  }
  await worker.stop();
});

workers('is woken by a new mail long before its next poll', async (context) => {
  const { app, smtp } = context;
  const worker = openWorker(backendOf(app), { smtpUrl: smtp.url, pollMs: MINUTES_MS });
  worker.start();
  await until('it listens', async () => {
    const { rows } = await sql`
      select from pg_locks join pg_database d on d.oid = database
      where datname = current_database() and locktype = 'advisory' and mode = 'ShareLock'`.execute(app.db());
    return rows.length > 0;
  });

  const [email = ''] = await invite(app, 1);
  await until('it is sent', () => isSent(app, email), MINUTES_MS / 2);
  await worker.stop();
});

workers('retries after a temporary error, with the same message id', async (context) => {
  const { app, smtp } = context;
  const [put = '', lost = ''] = await invite(app, 2);
  const tries = new Map<string, number>();
  const isFirst = (email: string) => {
    tries.set(email, (tries.get(email) ?? 0) + 1);
    return tries.get(email) === 1;
  };
  smtp.faults.recipient = (email) => (email === put && isFirst(email) ? { status: 451 } : undefined);
  smtp.faults.message = (email) => (email === lost && isFirst(email) ? 'die' : undefined);

  const worker = workerOf(context, { backoffMs: 1_000 });
  await worker.drain();
  assert.equal(smtp.recipients(), [lost]);
  app.clock.advance(MINUTES_MS);
  await worker.drain();
  await worker.stop();

  // The mail whose response was lost was sent twice, with the same message id.
  assert.equal(smtp.recipients().sort(), [put, lost, lost].sort());
  const twice = smtp.taken.filter(({ to }) => to.includes(lost));
  const ids = await Promise.all(twice.map(async (mail) => (await parseMail(mail)).messageId));
  assert.is(new Set(ids).size, 1);
  assert.is((await mailTo(app, put)).attempts, 2);
});

workers('gives up on a mail with a refused recipient, and records the reason', async (context) => {
  const { app, smtp } = context;
  const [email = ''] = await invite(app, 1);
  smtp.faults.recipient = () => ({ status: 550, text: `<${email}>: No such mailbox here` });
  const log: string[] = [];

  const worker = workerOf(context, { log });
  await worker.drain();
  await worker.stop();
  const mail = await mailTo(app, email);

  assert.ok(mail.failed_at);
  assert.is(mail.attempts, 1);
  assert.match(mail.last_error ?? '', 'No such mailbox here');
  // The log outlives an erasure.
  assert.match(log.join(''), '<…>: No such mailbox here');
  assert.not.match(log.join(''), email);
});

workers('is woken by mail.retry', async ({ app, smtp }) => {
  const [email = ''] = await invite(app, 1);
  smtp.faults.recipient = () => ({ status: 550 });
  const worker = openWorker(backendOf(app), { smtpUrl: smtp.url, pollMs: MINUTES_MS });
  worker.start();
  await until('it is given up', async () => (await mailTo(app, email)).failed_at !== null);
  delete smtp.faults.recipient;

  await app.as(ACME).mail.retry({ id: (await mailTo(app, email)).id });
  await until('it is sent', () => isSent(app, email));
  await worker.stop();

  assert.equal(smtp.recipients(), [email]);
});

workers('sends password mails before many invitations', async (context) => {
  const { app, smtp } = context;
  await invite(app, 100);
  await app.as(null).passwords.requestReset({ email: ADA });

  const worker = openWorker(backendOf(app), { smtpUrl: smtp.url });
  worker.start();
  await until('some are sent', () => smtp.taken.length >= 20);
  await worker.stop();

  assert.ok(smtp.recipients().slice(0, 5).includes(ADA));
});

workers('sends nothing without a mail server, but creates the links of password mails', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  await app.db().deleteFrom('rate_limits').execute();
  await app.as(null).passwords.requestReset({ email: ADA });
  const worker = openWorker(backendOf(app));

  worker.start();
  await until('the link is made', async () => (await mailTo(app, ADA)).password_link_id !== null);
  await worker.stop();

  assert.is((await mailTo(app, email)).attempts, 0);
  assert.is((await mailTo(app, ADA)).attempts, 0);
});

workers.run();
