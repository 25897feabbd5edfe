import { type Kysely, sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { Database } from '../../../entities/index.ts';
import { MINUTE_MS } from '../../../src/lib/clock.ts';
import { appSuite } from '../../support/app-suite.ts';
import { emptyOutbox, outboxOf } from '../../support/mail-fixtures.ts';
import { until } from '../../support/poll.ts';
import { ADA, type TestApp } from '../../support/test-app.ts';

const races = appSuite('links of password mails that several want to make or end');

races.before.each(async ({ app }) => {
  await emptyOutbox(app);
  // Requests are throttled by the real clock.
  await app.db().deleteFrom('rate_limits').execute();
});

const request = (app: TestApp, email: string) => app.as(null).passwords.requestReset({ email });

/** What a claim gives that begins, and has to wait, while somebody else is at work with the users. */
const claimDuring = async (
  app: TestApp,
  before: (tx: Kysely<Database>) => Promise<unknown>,
  after: (tx: Kysely<Database>) => Promise<unknown> = async () => {},
) => {
  const { claiming } = await app
    .db()
    .transaction()
    .execute(async (tx) => {
      await before(tx);
      const claim = outboxOf(app).claim(5);
      await until('the claim waits', async () => {
        const { rows } = await sql`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(app.db());
        return rows.length > 0;
      });
      await after(tx);
      // Wrapped, as it can only come to its end after this transaction.
      return { claiming: claim };
    });
  return claiming;
};

races('make nobody wait who ends the links of the same user at that moment', async ({ app }) => {
  await request(app, ADA);
  const [linked] = (await outboxOf(app).claim(5)).mails;
  app.clock.advance(10 * MINUTE_MS);
  await request(app, ADA);
  const ada = (tx: Kysely<Database>) => tx.selectFrom('users').select('id').where('email', '=', ADA);

  const { mails } = await claimDuring(
    app,
    (tx) => ada(tx).forUpdate().execute(),
    (tx) => tx.deleteFrom('password_links').where('user_id', '=', ada(tx)).execute(),
  );
  const ended = await app
    .db()
    .selectFrom('outbox_mails')
    .select('id')
    .where('failed_at', 'is not', null)
    .execute();

  assert.is(mails.length, 1);
  assert.equal(ended, [{ id: linked?.id }]);
});

races('are not made for somebody who is being deactivated', async ({ app }) => {
  const setActive = (db: Kysely<Database>, isActive: boolean) =>
    db.updateTable('users').set({ is_active: isActive }).where('email', '=', ADA).execute();
  await request(app, ADA);

  const { mails } = await claimDuring(app, (tx) => setActive(tx, false));
  await setActive(app.db(), true);

  assert.equal(mails, []);
  assert.equal(await app.db().selectFrom('outbox_mails').select('id').execute(), []);
});

races('are there for every mail that is taken, however many are made at once', async ({ app }) => {
  const now = app.clock.now().getTime();
  // The newest are due first, and are the last to get their links.
  const rows = Array.from({ length: 250 }, (_, index) => ({
    kind: 'password-reset' as const,
    recipient: ADA,
    created_at: new Date(now),
    next_attempt_at: new Date(now - index),
  }));
  await app.db().insertInto('outbox_mails').values(rows).execute();

  const alone = await outboxOf(app).claim(5);
  const together = await Promise.all(Array.from({ length: 10 }, () => outboxOf(app).claim(5)));
  const mails = [alone, ...together].flatMap((claim) => claim.mails);

  assert.is(alone.mails.length, 5);
  for (const mail of mails) assert.type(mail.link_id, 'number');
  assert.is(new Set(mails.map((mail) => mail.link_id)).size, mails.length);
});

races.run();
