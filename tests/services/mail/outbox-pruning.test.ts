import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { emptyOutbox, invite, mailTo, outboxOf } from '../../support/mails.ts';
import { ADA, appSuite, type TestApp } from '../../support/test-app.ts';

const pruning = appSuite('pruning of the outbox');

pruning.before.each(async ({ app }) => {
  await emptyOutbox(app);
});

const countMails = async (app: TestApp) =>
  (await app.db().selectFrom('outbox_mails').select('id').execute()).length;

pruning(
  'deletes mails that were sent or given up 30 days ago in batches, and keeps pending ones',
  async ({ app }) => {
    await invite(app, 2500);
    await app.db().updateTable('outbox_mails').set({ sent_at: app.clock.now() }).execute();
    await invite(app, 3);
    const [refused] = (await outboxOf(app).claim(1)).mails;
    if (!refused) return assert.unreachable();
    await outboxOf(app).recordDelivery(refused, {
      outcome: 'refused',
      cause: 'recipient',
      reason: 'No such mailbox.',
    });

    app.clock.advance(30 * DAY_MS);
    await outboxOf(app).prune({ isSent: true });
    assert.is(await countMails(app), 2503);
    app.clock.advance(1);
    await outboxOf(app).prune({ isSent: true });

    assert.is(await countMails(app), 2);
  },
);

pruning('deletes expired links only', async ({ app }) => {
  const countLinks = async () => (await app.db().selectFrom('password_links').select('id').execute()).length;
  await app.as(null).passwords.requestReset({ email: ADA });
  await outboxOf(app).claim(5);

  app.clock.advance(60 * MINUTE_MS - 1);
  await outboxOf(app).prune({ isSent: true });
  assert.is(await countLinks(), 1);
  app.clock.advance(1);
  await outboxOf(app).prune({ isSent: true });
  assert.is(await countLinks(), 0);
});

pruning('ends obsolete mails without a mail server', async ({ app }) => {
  const [revoked = '', pending = ''] = await invite(app, 2);
  await app.db().updateTable('invitations').set({ status: 'revoked' }).where('email', '=', revoked).execute();

  await outboxOf(app).prune({ isSent: true });
  assert.is((await mailTo(app, revoked)).failed_at, null);
  await outboxOf(app).prune({ isSent: false });

  assert.is((await mailTo(app, revoked)).last_error, 'The invitation has been revoked.');
  assert.equal((await mailTo(app, revoked)).failed_at, app.clock.now());
  assert.is((await mailTo(app, pending)).failed_at, null);
});

pruning.run();
