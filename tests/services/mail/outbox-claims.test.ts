import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../../src/lib/clock.ts';
import { mailContexts } from '../../../src/services/mail/mail-context.ts';
import { emptyOutbox, invite, mailTo, outboxOf } from '../../support/mails.ts';
import { ACME, ADA, appSuite, GRACE } from '../../support/test-app.ts';

const claims = appSuite('claims of due mails');

claims.before.each(async ({ app }) => {
  await emptyOutbox(app);
});

const recipientsOf = ({ mails }: { mails: { recipient: string }[] }) => mails.map((mail) => mail.recipient);

claims('are exclusive until the lease expires', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const [one, other] = [outboxOf(app, { leaseMs: 5000 }), outboxOf(app, { leaseMs: 5000 })];

  assert.equal(recipientsOf(await one.claim(5)), [email]);
  assert.is((await other.claim(5)).found, 0);
  assert.is(await other.msUntilDue(), 5000);
  app.clock.advance(4999);
  assert.is((await other.claim(5)).found, 0);
  app.clock.advance(1);
  const { mails } = await other.claim(5);

  assert.equal([mails[0]?.recipient, mails[0]?.attempts], [email, 2]);
});

claims(
  'return the requested number of mails: password mails first, then the longest due',
  async ({ app }) => {
    const invitations = await invite(app, 3);
    app.clock.advance(1000);
    await app.as(null).passwords.requestReset({ email: ADA });
    await app.as(ACME).users.create({ email: `new-${Date.now()}@acme.test` });

    const { mails } = await outboxOf(app).claim(3);

    assert.equal(mails.map(({ kind }) => kind).sort(), ['invitation', 'password-reset', 'password-setup']);
    assert.ok(recipientsOf({ mails }).includes(invitations[0] ?? ''));
  },
);

claims('return password mails before notices that were due earlier', async ({ app }) => {
  const { id: user_id } = await app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', '=', GRACE)
    .executeTakeFirstOrThrow();
  const due = app.clock.now();
  const notices = (['password-expiry', 'failed-logins'] as const).flatMap((kind) =>
    Array.from({ length: 10 }, () => ({
      kind,
      recipient: GRACE,
      user_id,
      created_at: due,
      next_attempt_at: due,
    })),
  );
  await app.db().insertInto('outbox_mails').values(notices).execute();
  app.clock.advance(1000);
  await app.as(null).passwords.requestReset({ email: ADA });

  assert.equal(recipientsOf(await outboxOf(app).claim(1)), [ADA]);
  assert.is((await outboxOf(app).claim(30)).found, notices.length, 'then the notices');
});

claims('give each mail to one of many concurrent workers', async ({ app }) => {
  const emails = await invite(app, 60);

  const taken = await Promise.all(Array.from({ length: 20 }, () => outboxOf(app).claim(5)));
  const recipients = taken.flatMap(recipientsOf);

  assert.is(new Set(recipients).size, recipients.length);
  assert.equal(recipients.sort(), emails.sort());
});

claims('do not wait for mails that are locked by another worker', async ({ app }) => {
  const [held = '', free = ''] = await invite(app, 2);
  await app.as(null).passwords.requestReset({ email: ADA });

  await app
    .db()
    .transaction()
    .execute(async (tx) => {
      await tx.selectFrom('outbox_mails').select('id').where('recipient', '<>', free).forUpdate().execute();
      assert.equal(recipientsOf(await outboxOf(app).claim(5)), [free]);
    });

  assert.equal(recipientsOf(await outboxOf(app).claim(5)).sort(), [ADA, held]);
});

claims('respect the limit of mails per minute for all workers together', async ({ app }) => {
  await invite(app, 40);
  const claimAll = async () => {
    const claimed = await Promise.all(
      Array.from({ length: 8 }, () => outboxOf(app, { perMinute: 10, leaseMs: 10 * MINUTE_MS }).claim(4)),
    );
    return claimed.flatMap(recipientsOf).length;
  };

  assert.is(await claimAll(), 10);
  assert.is(await outboxOf(app, { perMinute: 10 }).msUntilDue(), MINUTE_MS);
  app.clock.advance(MINUTE_MS - 1);
  assert.is(await claimAll(), 0);
  app.clock.advance(1);
  assert.is(await claimAll(), 10);
  app.clock.advance(MINUTE_MS / 2);
  assert.is(await claimAll(), 0);
});

claims(
  'do not retry a mail within a minute under a limit, which would count it only once',
  async ({ app }) => {
    await invite(app, 1);
    const outbox = outboxOf(app, { perMinute: 10, leaseMs: 1000 });
    await outbox.claim(5);

    app.clock.advance(2000);
    assert.is((await outbox.claim(5)).found, 0);
    app.clock.advance(MINUTE_MS);
    assert.is((await outbox.claim(5)).found, 1);
  },
);

claims('do not count mails that were obsolete and not sent', async ({ app }) => {
  await invite(app, 5);
  await app.db().updateTable('invitations').set({ status: 'revoked' }).execute();
  const outbox = outboxOf(app, { perMinute: 5 });

  assert.equal(await outbox.claim(5), { mails: [], found: 5 });
  const emails = await invite(app, 5);
  assert.equal(recipientsOf(await outbox.claim(5)).sort(), emails.sort());
});

claims('are not expected of mails that were sent or refused', async ({ app }) => {
  const outbox = outboxOf(app);
  await invite(app, 2);
  for (const email of [ADA, GRACE]) await app.as(null).passwords.requestReset({ email });
  const { mails } = await outbox.claim(4);
  const refused = { outcome: 'refused', cause: 'recipient', reason: 'No such mailbox.' } as const;

  // One of each kind is sent and the other refused.
  for (const [index, mail] of mails.toSorted((a, b) => a.kind.localeCompare(b.kind)).entries())
    await outbox.recordDelivery(mail, index % 2 === 0 ? { outcome: 'taken' } : refused);

  assert.is(mails.filter(({ kind }) => kind === 'invitation').length, 2);
  assert.is(mails.length, 4);
  assert.is(await outbox.msUntilDue(), null);
});

claims('date a mail as it is read after it was sent', async ({ app }) => {
  await invite(app, 1);
  const now = (): Date => {
    app.clock.advance(1000);
    return app.clock.now();
  };
  const outbox = outboxOf({ ...app, clock: { ...app.clock, now } });
  const [mail] = (await outbox.claim(1)).mails;
  if (!mail) return assert.unreachable();

  const { date } = outbox.write(mail);

  await outbox.recordDelivery(mail, { outcome: 'taken' });
  const sent = await mailContexts(app.orm.em.fork(), { now: now(), invitationMs: 0 })
    .where('mail.id', '=', mail.id)
    .executeTakeFirstOrThrow();
  assert.is(date.toISOString(), outbox.write(sent).date.toISOString());
});

claims('can be released without effect', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const before = await mailTo(app, email);
  const outbox = outboxOf(app);
  const { mails } = await outbox.claim(1);

  await outbox.release(mails);

  assert.equal(await mailTo(app, email), before);
});

claims('find due mails by index among any number of later ones', async ({ app }) => {
  const plan = await app
    .db()
    .transaction()
    .execute(async (tx) => {
      const { sql } = await import('kysely');
      await sql`set local enable_seqscan = off`.execute(tx);
      const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain select id from outbox_mails where sent_at is null and failed_at is null
        and next_attempt_at <= ${app.clock.now()}::timestamptz order by (kind = 'invitation'), next_attempt_at, id limit 5
        for update skip locked`.execute(tx);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });

  assert.match(plan, 'outbox_mails_due');
  assert.not.match(plan, 'Sort');
});

claims.run();
