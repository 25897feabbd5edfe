import * as assert from 'uvu/assert';
import type { ClaimedMail } from '../../src/services/mail/outbox.ts';
import { emptyOutbox, invite, MAIL_FROM, mailTo, outboxOf } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const mails = appSuite('mails');

mails.before.each(async ({ app }) => {
  await emptyOutbox(app);
  // Requests are throttled by the real clock.
  await app.db().deleteFrom('rate_limits').execute();
});

const REFUSED = { outcome: 'refused', cause: 'recipient', reason: 'No such mailbox.' } as const;

const recipientsFor = async (app: TestApp, who: string, filter = {}) =>
  (await app.as(who).mail.list(filter)).map((mail) => mail.recipient);

/** An invitation to each client, and a password reset for a user of each. */
const oweSome = async (app: TestApp) => {
  const [acme = ''] = await invite(app, 1);
  const globex = `globex-${acme}`;
  await app.as(GLOBEX).clients.invite({ id: 2, email: globex, initial_apps: [] });
  for (const email of [ADA, EDSGER, ROOT]) await app.as(null).passwords.requestReset({ email });
  await outboxOf(app).createLinks();
  return { acme, globex };
};

mails('are visible to superusers and staff, or those of a client to its admins', async ({ app }) => {
  const { acme, globex } = await oweSome(app);

  assert.equal(await recipientsFor(app, ROOT), [ROOT, EDSGER, ADA, globex, acme]);
  assert.equal(await recipientsFor(app, STAFF), [ROOT, EDSGER, ADA, globex, acme]);
  assert.equal(await recipientsFor(app, ACME), [ADA, acme]);
  assert.equal(await recipientsFor(app, GLOBEX), [EDSGER, globex]);
  assert.equal(await recipientsFor(app, ROOT, { client: 2 }), [EDSGER, globex]);
  assert.equal(await recipientsFor(app, ACME, { client: 2 }), []);
  await rejectsWith(app.as(ADA).mail.list({}), 'forbidden');
  const { id } = await mailTo(app, globex);
  await rejectsWith(app.as(ACME).mail.get({ id }), 'not-found');
  await rejectsWith(app.as(ACME).mail.retry({ id }), 'not-found');
  await rejectsWith(app.as(ROOT).mail.get({ id: 999_999 }), 'not-found');
});

mails('that failed are left out of the failed ones when the invitation was mailed again', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const outbox = outboxOf(app);
  const refuseAll = async (): Promise<void> => {
    for (const mail of (await outbox.claim(10)).mails) await outbox.recordDelivery(mail, REFUSED);
  };
  const failed = async () => (await app.as(ACME).mail.list({ status: 'failed' })).map(({ id }) => id);
  await refuseAll();
  const [first] = await failed();
  assert.type(first, 'number');

  const [invitation] = (await app.as(ACME).invitations.search({ search: email })) as { id: number }[];
  await app.as(ACME).invitations.resend({ id: invitation?.id ?? 0 });
  assert.equal(await failed(), [], 'the mail of the resend is queued');
  assert.is((await app.as(ACME).attention.get()).failed_mails.count, 0);
  await refuseAll();
  const again = await failed();
  assert.is(again.length, 1, 'one row for the invitation');
  assert.is.not(again[0], first);
  assert.is((await app.as(ACME).mail.list({ recipient: email })).length, 2, 'both are in the list of all');
});

mails('that are no longer needed are not among the failed ones, nor retried', async ({ app }) => {
  const [revoked = '', expired = ''] = await invite(app, 2);
  await setRows(app, 'invitations', { email: revoked }, { status: 'revoked' });
  await setRows(app, 'invitations', { email: expired }, { status: 'expired' });
  const { id } = await mailTo(app, revoked);

  assert.equal((await outboxOf(app).claim(5)).mails, []);

  assert.equal(await recipientsFor(app, ACME, { status: 'failed' }), [expired], 'came too late');
  assert.is((await app.as(ACME).attention.get()).failed_mails.count, 1);
  const { can_retry, last_error } = await app.as(ACME).mail.get({ id });
  assert.equal([can_retry, last_error], [false, 'The invitation has been revoked.']);
});

mails('have a status', async ({ app }) => {
  const emails = await invite(app, 4);
  const outbox = outboxOf(app);
  const claimed = (await outbox.claim(4)).mails.sort((a, b) => a.id - b.id);
  const [, sent, retrying, failed] = claimed;
  if (!claimed[0] || !sent || !retrying || !failed) return assert.unreachable();
  await outbox.release([claimed[0]]);
  await outbox.recordDelivery(sent, { outcome: 'taken' });
  await outbox.recordDelivery(retrying, { outcome: 'failed', cause: 'connection', reason: 'Try later.' });
  await outbox.recordDelivery(failed, REFUSED);

  for (const [index, status] of (['queued', 'sent', 'retrying', 'failed'] as const).entries()) {
    assert.equal(await recipientsFor(app, ACME, { status }), [emails[index]], status);
  }
  const [mail] = await app.as(ACME).mail.list({ status: 'failed' });
  assert.equal(mail, {
    id: failed.id,
    kind: 'invitation',
    recipient: emails[3],
    client: 1,
    subject: "You've been invited to Acme Analytics",
    status: 'failed',
    attempts: 1,
    last_error: 'No such mailbox.',
    created_at: app.clock.now(),
    next_attempt_at: null,
    sent_at: null,
    failed_at: app.clock.now(),
  });
});

mails('are hidden from admins if they are about the account of a shared user', async ({ app }) => {
  await app.as(ROOT).users.update({ email: EDSGER, apps: ['zylTKNVx', 'Hb7cW2ke'] });
  await app.as(null).passwords.requestReset({ email: EDSGER });
  await outboxOf(app).createLinks();

  const [mail] = await app.as(ROOT).mail.list({ recipient: EDSGER });
  assert.is(mail?.subject, 'Reset your password for Steward');
  for (const who of [ACME, GLOBEX]) {
    assert.equal(await app.as(who).mail.list({ recipient: EDSGER }), [], who);
    await rejectsWith(app.as(who).mail.get({ id: mail?.id ?? 0 }), 'not-found');
  }
  await app.as(ACME).memberships.remove({ id: 1, email: EDSGER });
  assert.equal(await app.as(GLOBEX).mail.list({ recipient: EDSGER }), [], 'also after they have left one');
  assert.equal(await app.as(GLOBEX).mail.list({ client: 1 }), [], 'a filter names no other client');
  await app.as(ROOT).users.update({ email: EDSGER, apps: ['Hb7cW2ke'] });
});

mails('are retried at once for an admin of the client, unless sent or obsolete', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const outbox = outboxOf(app);
  const [claimed] = (await outbox.claim(1)).mails;
  if (!claimed) return assert.unreachable();
  const { id } = claimed;
  const waiting = await app.as(ACME).mail.retry({ id });
  assert.ok(waiting.next_attempt_at && waiting.next_attempt_at > app.clock.now(), 'it is being sent');
  await outbox.recordDelivery(claimed, REFUSED);
  // Of another client.
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: STAFF, is_admin: true });
  await rejectsWith(app.as(STAFF).mail.retry({ id }), 'forbidden');
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: STAFF, is_admin: false });

  const { status, next_attempt_at } = await app.as(ACME).mail.retry({ id });
  const again = (await outbox.claim(1)).mails[0];
  if (!again) return assert.unreachable();
  await outbox.recordDelivery(again, { outcome: 'taken' });
  const problem = await rejectsWith(app.as(ACME).mail.retry({ id }), 'invalid-input');

  assert.equal([status, next_attempt_at], ['retrying', app.clock.now()]);
  assert.equal(problem.fields, { id: ['This mail has already been sent.'] });
  const [entry, ...others] = await app.as(ACME).audit.list({ action: 'mail.retry' });
  assert.equal([entry?.actor, entry?.target, entry?.clients, others], [ACME, email, [1], []]);
  assert.equal(entry?.details, { id, kind: 'invitation' });
  const [obsolete = ''] = await invite(app, 1);
  await setRows(app, 'invitations', { email: obsolete }, { status: 'revoked' });
  const late = app.as(ACME).mail.retry({ id: (await mailTo(app, obsolete)).id });
  assert.equal((await rejectsWith(late, 'invalid-input')).fields, {
    id: ['The invitation has been revoked.'],
  });
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

const variablesOf = async (app: TestApp, id: number): Promise<string> =>
  JSON.stringify((await rowOf(app, 'outbox_mails', { id })).variables);

mails('sent show the texts of their client, the apps and the names of that time', async ({ app }) => {
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

mails('sent keep neither links nor what they are made of', async ({ app }) => {
  const [guest = ''] = await invite(app, 1);
  await app.as(null).passwords.requestReset({ email: ADA });
  await app.as(ADA).profile.requestEmail({ email: 'ada.secret@acme.test' });
  const invitation = await rowOf(app, 'invitations', { email: guest });
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

mails('that wait, or whose texts were not kept, have the present texts', async ({ app }) => {
  const [guest = ''] = await invite(app, 1);
  const [sent] = await send(app, guest);
  await setRows(app, 'outbox_mails', {}, { variables: null });
  const [waiting = ''] = await invite(app, 1);
  const [mail] = (await outboxOf(app).claim(1)).mails;
  if (!mail || !sent) return assert.unreachable();
  const failure = { outcome: 'failed', cause: 'connection', reason: 'Try later.' } as const;
  await outboxOf(app).recordDelivery(mail, failure);
  await app.as(ACME).clients.update({ id: 1, invitation_body: 'The words of today.' });

  for (const id of [sent.id, (await mailTo(app, waiting)).id]) {
    const { text, is_as_sent } = await app.as(ACME).mail.get({ id });
    assert.is(is_as_sent, false);
    assert.match(text, 'The words of today.');
  }
  await app.as(ACME).clients.update({ id: 1, invitation_body: '' });
});

const INVITATION_LINK = /\/invitation\/[\w-]+\/\?signature=[\w-]+/;

const PASSWORD_LINK = /\/password\/reset\/\?token=[\w.-]+/;

/** Text and HTML of the mail to an address, as the caller may view it. */
const readBy = async (app: TestApp, who: string, recipient: string): Promise<string[]> => {
  const { id } = await mailTo(app, recipient);
  const { text, html } = await app.as(who).mail.get({ id });
  return [text, html];
};

const showsLink = (forms: string[], link: RegExp): void => {
  for (const form of forms) assert.match(form, link);
};

const showsNone = (forms: string[]): void => {
  for (const form of forms) {
    assert.match(form, '(link not shown)');
    assert.not.match(form, /signature|token|\/invitation|\/password/);
  }
};

const mailed = appSuite('mails with a mail server', { SMTP_URL: 'smtp://127.0.0.1:1' });

for (const { suite, isMailed } of [
  { suite: mails, isMailed: false },
  { suite: mailed, isMailed: true },
]) {
  const readers = isMailed ? 'superusers only' : 'users who may invite';
  suite(`show an invitation link to ${readers}`, async ({ app }) => {
    const [email = ''] = await invite(app, 1);

    showsLink(await readBy(app, ROOT, email), INVITATION_LINK);
    if (isMailed) showsNone(await readBy(app, ACME, email));
    else showsLink(await readBy(app, ACME, email), INVITATION_LINK);
    showsNone(await readBy(app, STAFF, email));
    const entries = await app.as(ROOT).audit.list({ action: 'mail.read-link', target: email });
    const actors = entries.map(({ actor }) => actor);
    assert.equal(actors, isMailed ? [ROOT] : [ACME, ROOT]);
  });

  suite(`show a password link to ${isMailed ? 'no one' : 'superusers'}`, async ({ app }) => {
    await app.as(null).passwords.requestReset({ email: ADA });
    await outboxOf(app).createLinks();

    for (const who of [ACME, STAFF]) showsNone(await readBy(app, who, ADA));
    const forms = await readBy(app, ROOT, ADA);
    if (isMailed) showsNone(forms);
    else showsLink(forms, PASSWORD_LINK);
  });
}

mails.run();
mailed.run();
