import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { ClaimedMail } from '../../src/services/mail/outbox.ts';
import { emptyOutbox, INVITATION_DAYS, invite, MAIL_FROM, mailTo, outboxOf } from '../support/mails.ts';
import { erase } from '../support/person.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const sent = appSuite('sent mails');

sent.before.each(async ({ app }) => {
  await emptyOutbox(app);
  await app.db().deleteFrom('rate_limits').execute();
});

const take = async (app: TestApp, mails: readonly ClaimedMail[]): Promise<void> => {
  for (const mail of mails) await outboxOf(app).recordDelivery(mail, { outcome: 'taken' });
};

/** Sends all queued mails, and returns what was written into those to the address, newest first. */
const send = async (app: TestApp, recipient: string) => {
  const outbox = outboxOf(app);
  const { mails } = await outbox.claim(20);
  await take(app, mails);
  return mails
    .filter((mail) => mail.recipient === recipient)
    .sort((a, b) => b.id - a.id)
    .map((mail) => ({ id: mail.id, ...outbox.write(mail) }));
};

const SECRET = /https?:\/\/\S+/g;
/** A mail as readers see it who may not see its link. */
const withoutLink = (text: string): string => text.replaceAll(SECRET, '(link not shown)');

const read = async (app: TestApp, who: string, id: number) => {
  const { subject, from, text, is_as_sent } = await app.as(who).mail.get({ id });
  return { subject, from, text: withoutLink(text), is_as_sent };
};

type Written = Awaited<ReturnType<typeof send>>[number];

const asSent = ({ subject, from, text }: Written) => ({
  subject,
  from,
  text: withoutLink(text),
  is_as_sent: true,
});

const newMember = async (app: TestApp, email: string): Promise<void> => {
  await app.as(ACME).users.create({ email, apps: [SALES], send_email: false });
  await app.as(ACME).users.update({ email, first_name: 'Wilhelmina', last_name: 'Xylander' });
};

const variablesOf = async (app: TestApp, id: number): Promise<string> => {
  const rows = app.db().selectFrom('outbox_mails').select('variables').where('id', '=', id);
  return JSON.stringify((await rows.executeTakeFirstOrThrow()).variables);
};

sent('show the texts of their client, the apps and the names of that time', async ({ app }) => {
  const texts = { name: 'Acme of Today', default_from_email: 'today@acme.test', support_email: '' };
  const invitation = { invitation_subject: 'Come in', invitation_body: 'We are open.' };
  await app.as(ACME).clients.update({ id: 1, ...invitation });
  const [guest = ''] = await invite(app, 1);
  await newMember(app, 'renamed@acme.test');
  const [invited] = await send(app, guest);
  await app.as(null).passwords.requestReset({ email: 'renamed@acme.test' });
  await outboxOf(app).createLinks();
  const [reset] = await send(app, 'renamed@acme.test');
  if (!invited || !reset) return assert.unreachable();
  assert.match(invited.text, 'We are open.');
  assert.match(reset.text, 'Hello Wilhelmina,');
  const before = await app.as(ROOT).clients.get({ id: 1 });

  await app.as(ROOT).clients.update({ id: 1, ...texts, invitation_subject: '', invitation_body: 'Closed.' });
  await app.as(ACME).users.update({ email: 'renamed@acme.test', first_name: 'Zelda' });
  await app.as(ACME).apps.update({ app_id: SALES, label: 'Sales of Today' });

  for (const who of [ROOT, STAFF, ACME])
    for (const mail of [invited, reset]) assert.equal(await read(app, who, mail.id), asSent(mail), who);
  const listed = await app.as(ACME).mail.list({ status: 'sent' });
  assert.equal(listed.find(({ id }) => id === invited.id)?.subject, 'Come in');
  assert.equal(listed.find(({ id }) => id === reset.id)?.subject, 'Reset your password for Acme Analytics');
  const pages = await app.as('renamed@acme.test').users.export({ email: 'renamed@acme.test' });
  const exported: unknown[] = [];
  for await (const page of pages) if (page.part === 'mails') exported.push(...page.items);
  assert.match(JSON.stringify(exported), 'Hello Wilhelmina,');
  const { name, default_from_email, support_email } = before;
  await app.as(ROOT).clients.update({ id: 1, name, default_from_email, support_email });
  await app.as(ACME).clients.update({ id: 1, invitation_subject: '', invitation_body: '' });
  await app.as(ACME).apps.update({ app_id: SALES, label: 'Sales' });
});

sent('keep neither links nor what they are made of', async ({ app }) => {
  const [guest = ''] = await invite(app, 1);
  await app.as(null).passwords.requestReset({ email: ADA });
  await app.as(ADA).profile.requestEmail({ email: 'ada.secret@acme.test' });
  const invitation = await app
    .db()
    .selectFrom('invitations')
    .select('key')
    .where('email', '=', guest)
    .executeTakeFirstOrThrow();
  const outbox = outboxOf(app);
  await outbox.createLinks();
  const { mails } = await outbox.claim(20);
  const links = mails.flatMap((mail) => [...outbox.write(mail).text.matchAll(SECRET)].map(([link]) => link));
  const tokens = links.flatMap((link) => [...new URL(link).searchParams.values()]);
  assert.ok(tokens.length >= 3, 'an invitation, a password and an address');

  await take(app, mails);

  for (const { id } of mails) {
    const kept = await variablesOf(app, id);
    assert.match(kept, MAIL_FROM);
    for (const secret of [...links, ...tokens, invitation.key]) assert.not.match(kept, secret);
    assert.not.match(kept, /link_id|change_id|"([^"]*_)?(key|token)"/);
  }
  await app.as(ADA).profile.cancelEmail();
});

sent('say so if their texts were not kept, and show the present ones', async ({ app }) => {
  const [guest = ''] = await invite(app, 1);
  const [mail] = await send(app, guest);
  if (!mail) return assert.unreachable();
  await app.db().updateTable('outbox_mails').set({ variables: null }).execute();
  await app.as(ACME).clients.update({ id: 1, invitation_body: 'The words of today.' });

  const { text, is_as_sent } = await app.as(ACME).mail.get({ id: mail.id });

  assert.is(is_as_sent, false);
  assert.match(text, 'The words of today.');
  await app.as(ACME).clients.update({ id: 1, invitation_body: '' });
});

sent('of an older version, which stored days, show when their invitation expires', async ({ app }) => {
  const [guest = ''] = await invite(app, 1);
  const twoDays = sql<Date>`created_at - interval '2 days'`;
  await app.db().updateTable('outbox_mails').set({ created_at: twoDays }).execute();
  const [mail] = await send(app, guest);
  if (!mail) return assert.unreachable();
  const stored = sql`variables || jsonb_build_object('invitation_days', ${INVITATION_DAYS}::int,
    'link_expires_at', created_at + ${INVITATION_DAYS}::int * interval '1 day')`;
  await sql`update outbox_mails set variables = ${stored}`.execute(app.db());

  assert.equal(await read(app, ACME, mail.id), asSent(mail));
});

sent('that wait for another attempt have the present texts', async ({ app }) => {
  const [guest = ''] = await invite(app, 1);
  const outbox = outboxOf(app);
  const [mail] = (await outbox.claim(1)).mails;
  if (!mail) return assert.unreachable();
  await outbox.recordDelivery(mail, { outcome: 'failed', cause: 'connection', reason: 'Try later.' });
  await app.as(ACME).clients.update({ id: 1, invitation_body: 'The words of today.' });

  const { id } = await mailTo(app, guest);
  const { text, is_as_sent } = await app.as(ACME).mail.get({ id });

  assert.is(is_as_sent, false);
  assert.match(text, 'The words of today.');
  await app.as(ACME).clients.update({ id: 1, invitation_body: '' });
});

sent('tell admins nothing of a client of the person that they do not administer', async ({ app }) => {
  await app.as(ROOT).users.update({ email: EDSGER, apps: [SALES, 'Hb7cW2ke'] });
  await app.as(null).passwords.requestReset({ email: EDSGER });
  await outboxOf(app).createLinks();
  const [mail] = await send(app, EDSGER);
  if (!mail) return assert.unreachable();
  assert.not.match(mail.text, /acme/i);
  const person = app.db().selectFrom('users').select('id').where('email', '=', EDSGER);
  await app
    .db()
    .deleteFrom('memberships')
    .where('client_id', '=', 1)
    .where('user_id', 'in', person)
    .execute();

  const shown = await app.as(GLOBEX).mail.get({ id: mail.id });
  const [listed] = await app.as(GLOBEX).mail.list({ recipient: EDSGER });
  const timeline = await app.as(GLOBEX).mail.timeline({ email: EDSGER });

  assert.not.match(JSON.stringify([shown, listed, timeline]), /acme/i);
  for (const who of [ROOT, STAFF]) assert.equal(await read(app, who, mail.id), asSent(mail), who);
  await app.as(ROOT).users.update({ email: EDSGER, apps: ['Hb7cW2ke'] });
});

sent('forget the names of an erased person, also of one who has asked for access', async ({ app }) => {
  const email = 'wilhelmina@acme.test';
  await newMember(app, email);
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
  await app.as(email).requests.create({ app: CHURN, reason: 'Numbers for Wilhelmina' });
  await app.as(null).passwords.requestReset({ email });
  await outboxOf(app).createLinks();
  const [own] = await send(app, email);
  const request = await mailTo(app, ACME);
  if (!own) return assert.unreachable();
  assert.match((await app.as(ACME).mail.get({ id: request.id })).text, `Wilhelmina Xylander (${email})`);

  const { pseudonym } = await erase(app, email);

  for (const id of [own.id, request.id]) {
    const { recipient, text } = await app.as(ROOT).mail.get({ id });
    assert.not.match(text + (await variablesOf(app, id)), /wilhelmina|xylander/i);
    assert.is(recipient, id === own.id ? pseudonym : ACME);
  }
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: false });
});

sent('keep no name of a person who is erased during the delivery', async ({ app }) => {
  const email = 'vanishing@acme.test';
  await newMember(app, email);
  await app.as(null).passwords.requestReset({ email });
  const outbox = outboxOf(app);
  await outbox.createLinks();
  const { mails } = await outbox.claim(20);
  assert.equal(
    mails.map(({ variables }) => variables.first_name),
    ['Wilhelmina'],
  );

  await erase(app, email);
  await take(app, mails);

  const { status, text } = await app.as(ROOT).mail.get({ id: mails[0]?.id ?? 0 });
  assert.is(status, 'sent');
  assert.not.match(text + (await variablesOf(app, mails[0]?.id ?? 0)), /wilhelmina|vanishing/i);
});

sent.run();
