import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { emptyOutbox, INVITATION_DAYS, invite, mailTo, outboxOf } from '../../support/mails.ts';
import { appSuite, type TestApp } from '../../support/test-app.ts';

const results = appSuite('delivery results');

results.before.each(async ({ app }) => {
  await emptyOutbox(app);
});

const TAKEN = { outcome: 'taken' } as const;
const FAILED = { outcome: 'failed', cause: 'connection', reason: 'Try later.' } as const;
const REFUSED = { outcome: 'refused', cause: 'recipient', reason: 'No such mailbox.' } as const;

const invitationOf = (app: TestApp, email: string) =>
  app.db().selectFrom('invitations').selectAll().where('email', '=', email).executeTakeFirstOrThrow();

const claimOnly = async (app: TestApp) => {
  const [mail] = (await outboxOf(app).claim(1)).mails;
  if (!mail) throw new Error('nothing was due');
  return mail;
};

results('are counted in the invitation, which restarts its expiry', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const mail = await claimOnly(app);
  app.clock.advance(DAY_MS);

  await outboxOf(app).recordDelivery(mail, TAKEN);
  const invitation = await invitationOf(app, email);
  const sent = await mailTo(app, email);

  assert.is(invitation.email_count, 1);
  assert.is(invitation.expires_at.getTime(), app.clock.now().getTime() + INVITATION_DAYS * DAY_MS);
  assert.equal([sent.sent_at, sent.last_error, sent.failed_at], [app.clock.now(), null, null]);
});

results('keep the expiry of an invitation that was accepted or that lasts longer', async ({ app }) => {
  const [accepted = '', lasting = ''] = await invite(app, 2);
  const outbox = outboxOf(app);
  const { mails } = await outbox.claim(5);
  const far = new Date(app.clock.now().getTime() + 99 * DAY_MS);
  const change = (email: string, values: object) =>
    app.db().updateTable('invitations').set(values).where('email', '=', email).execute();
  await change(accepted, { status: 'accepted' });
  await change(lasting, { expires_at: far });
  const before = await invitationOf(app, accepted);
  app.clock.advance(DAY_MS);

  for (const mail of mails) await outbox.recordDelivery(mail, TAKEN);

  assert.equal(await invitationOf(app, accepted), { ...before, email_count: 1 });
  assert.equal((await invitationOf(app, lasting)).expires_at, far);
});

results('count a mail once if two workers have sent it', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const first = await claimOnly(app);
  app.clock.advance(10 * MINUTE_MS);
  const second = await claimOnly(app);

  await Promise.all([
    outboxOf(app).recordDelivery(first, TAKEN),
    outboxOf(app).recordDelivery(second, TAKEN),
    outboxOf(app).recordDelivery(first, TAKEN),
  ]);

  assert.is((await invitationOf(app, email)).email_count, 1);
});

results('count after their lease has expired only if the attempt succeeded', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const first = await claimOnly(app);
  app.clock.advance(10 * MINUTE_MS);
  const second = await claimOnly(app);
  const claimed = await mailTo(app, email);

  await outboxOf(app).recordDelivery(first, FAILED);
  await outboxOf(app).recordDelivery(first, REFUSED);
  await outboxOf(app).release([first]);
  assert.equal(await mailTo(app, email), claimed);
  await outboxOf(app).recordDelivery(first, TAKEN);
  await outboxOf(app).recordDelivery(second, FAILED);

  const { sent_at, last_error } = await mailTo(app, email);
  assert.equal([sent_at, last_error], [app.clock.now(), null]);
});

results(
  'delay a failed mail by one minute, two, four … four hours, and give up after three days',
  async ({ app }) => {
    const [email = ''] = await invite(app, 1);
    const made = app.clock.now().getTime();
    const waits: number[] = [];
    for (;;) {
      await outboxOf(app).recordDelivery(await claimOnly(app), FAILED);
      const mail = await mailTo(app, email);
      assert.is(mail.last_error, FAILED.reason);
      if (mail.failed_at) break;
      const waitMs = mail.next_attempt_at.getTime() - app.clock.now().getTime();
      waits.push(waitMs / MINUTE_MS);
      app.clock.advance(waitMs);
    }

    const isNear = (wait: number, base: number) => wait >= base && wait <= base * 1.25;
    for (const [index, base] of [1, 2, 4, 8, 16, 32, 64, 128].entries()) {
      assert.ok(isNear(waits[index] ?? 0, base), `${waits[index]} min after try ${index + 1}`);
    }
    assert.ok(
      waits.slice(8).every((wait) => wait === 240),
      waits.join(),
    );
    const ageMs = app.clock.now().getTime() - made;
    assert.ok(ageMs >= 3 * DAY_MS && ageMs < 3 * DAY_MS + 240 * MINUTE_MS);
    assert.is((await outboxOf(app).claim(5)).found, 0);
  },
);

results('give up on a refused mail at once', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  await outboxOf(app).recordDelivery(await claimOnly(app), REFUSED);
  const { failed_at, last_error, sent_at } = await mailTo(app, email);

  assert.equal([failed_at, last_error, sent_at], [app.clock.now(), REFUSED.reason, null]);
  app.clock.advance(DAY_MS);
  assert.is((await outboxOf(app).claim(5)).found, 0);
});

results('give up on mails of closed invitations and to invalid addresses', async ({ app }) => {
  const emails = await invite(app, 4);
  const set = (index: number, values: object) =>
    app
      .db()
      .updateTable('invitations')
      .set(values)
      .where('email', '=', emails[index] ?? '')
      .execute();
  await set(0, { status: 'accepted' });
  await set(1, { status: 'revoked' });
  await set(2, { expires_at: app.clock.now() });
  await app
    .db()
    .updateTable('outbox_mails')
    .set({ recipient: 'a@b.test, c@d.test' })
    .where('recipient', '=', emails[3] ?? '')
    .execute();

  assert.equal(await outboxOf(app).claim(5), { mails: [], found: 4 });
  const mails = await app.db().selectFrom('outbox_mails').selectAll().orderBy('id').execute();

  assert.equal(
    mails.map((mail) => mail.last_error),
    [
      'The invitation has been accepted.',
      'The invitation has been revoked.',
      'The invitation has expired.',
      'Mail cannot be sent to this address.',
    ],
  );
  assert.ok(mails.every((mail) => mail.failed_at && !mail.sent_at));
});

results.run();
