import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { emptyOutbox, outboxOf } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const timeline = appSuite('timeline of an address');

const GUEST = 'guest@both.test';

/** Invitations of one address to two clients, of which the first is resent; then a password reset of another. */
timeline.before(async ({ app }) => {
  await emptyOutbox(app);
  await app.as(ACME).invitations.create({ items: [{ email: GUEST, client: 1 }] });
  app.clock.advance(MINUTE_MS);
  await app.as(GLOBEX).invitations.create({ items: [{ email: GUEST, client: 2 }] });
  app.clock.advance(MINUTE_MS);
  const [invitation] = await app.as(ACME).invitations.search({ search: GUEST });
  await app.as(ACME).invitations.resend({ id: invitation?.id ?? 0 });
  await app.as(null).passwords.requestReset({ email: ADA });
  await outboxOf(app).createLinks();
});

/** Entries as `mail of client 1` or `invitation of client 1`. */
const linesFor = async (app: TestApp, who: string, input: { limit?: number; cursor?: string } = {}) =>
  (await app.as(who).mail.timeline({ email: GUEST, ...input })).map(({ mail, invitation }) =>
    mail ? `mail of client ${mail.client}` : `invitation of client ${invitation?.client}`,
  );

const OF_ACME = ['mail of client 1', 'mail of client 1', 'invitation of client 1'];

timeline('lists mails and invitations of what the caller sees, newest first', async ({ app }) => {
  const all = ['mail of client 1', 'mail of client 2', 'invitation of client 2', ...OF_ACME.slice(1)];

  assert.equal(await linesFor(app, ROOT), all);
  assert.equal(await linesFor(app, STAFF), all);
  assert.equal(await linesFor(app, ACME), OF_ACME);
  assert.equal(await linesFor(app, GLOBEX), ['mail of client 2', 'invitation of client 2']);
  await rejectsWith(app.as(ADA).mail.timeline({ email: GUEST }), 'forbidden');
  assert.equal(await app.as(ROOT).mail.timeline({ email: 'unknown@both.test' }), []);
  assert.equal(await app.as(ACME).mail.timeline({ email: EDSGER }), []);
});

timeline('has cursors, which must be entries that the caller may see', async ({ app }) => {
  const all = await app.as(ROOT).mail.timeline({ email: GUEST.toUpperCase() });
  const foreign = all.find(({ mail }) => mail?.client === 2)?.id ?? '';
  for (const cursor of [foreign, 'mail-0', 'nothing', '']) {
    const { fields } = await rejectsWith(
      app.as(ACME).mail.timeline({ email: GUEST, cursor }),
      'invalid-input',
    );
    assert.equal(Object.keys(fields ?? {}), ['cursor'], cursor);
  }
});

timeline('leads from an invitation to its newest mail, with its delivery', async ({ app }) => {
  const claimed = (await outboxOf(app).claim(10)).mails.filter(({ recipient }) => recipient === GUEST);
  const refusal = { outcome: 'refused', cause: 'recipient', reason: 'No such mailbox.' } as const;
  for (const mail of claimed) await outboxOf(app).recordDelivery(mail, refusal);

  const entries = await app.as(ACME).mail.timeline({ email: GUEST });

  const [newest, , { invitation } = {}] = entries;
  assert.equal(invitation?.mail, { id: newest?.mail?.id, status: 'failed', last_error: 'No such mailbox.' });
  assert.equal([invitation?.status, invitation?.inviter], ['pending', ACME]);
});

timeline('agrees with the filters of the list of mails', async ({ app }) => {
  const recipients = async (who: string, filter: object) =>
    (await app.as(who).mail.list(filter)).map(({ recipient, client }) => `${recipient} ${client}`);

  assert.equal(await recipients(ROOT, { recipient: GUEST }), [`${GUEST} 1`, `${GUEST} 2`, `${GUEST} 1`]);
  assert.equal(await recipients(ACME, { recipient: GUEST.toUpperCase() }), [`${GUEST} 1`, `${GUEST} 1`]);
  assert.equal(await recipients(GLOBEX, { search: 'BOTH gue' }), [`${GUEST} 2`]);
  assert.equal(await recipients(ROOT, { search: 'ada@' }), [`${ADA} null`]);
  for (const search of ['guest nobody', '%', '_'])
    assert.equal(await recipients(ROOT, { search }), [], search);
});

timeline('has mails about the account of a superuser for superusers alone', async ({ app }) => {
  const email = 'promoted@acme.test';
  await app.as(ROOT).users.create({ email, client: 1 });
  await app.as(null).passwords.requestReset({ email });
  await app.mailWorker.drain();
  const kindsFor = async (reader: string) =>
    (await app.as(reader).mail.list({ recipient: email })).map(({ kind }) => kind);
  const before = await kindsFor(ACME);
  await app.as(ROOT).roles.update({ email, is_superuser: true });

  assert.ok(before.length > 0);
  assert.equal(await kindsFor(ACME), []);
  assert.ok((await kindsFor(ROOT)).length >= before.length);
});

timeline.run();
