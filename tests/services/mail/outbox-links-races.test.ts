import { type Kysely, sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { Database } from '../../../entities/index.ts';
import { MINUTE_MS } from '../../../src/lib/clock.ts';
import { emptyOutbox, outboxOf } from '../../support/mails.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { ACME, ADA, appSuite, ROOT, type TestApp } from '../../support/test-app.ts';
import { until } from '../../support/time.ts';

const races = appSuite('concurrent changes of password links');

races.before.each(async ({ app }) => {
  await emptyOutbox(app);
  // Requests are throttled by the real clock.
  await app.db().deleteFrom('rate_limits').execute();
});

const request = (app: TestApp, email: string) => app.as(null).passwords.requestReset({ email });

/** The result of a claim that has to wait for a transaction that locks the users. */
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
      // Wrapped in an object, because it can only settle after this transaction.
      return { claiming: claim };
    });
  return claiming;
};

races('do not deadlock with ending the links of the same user', async ({ app }) => {
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

races('do not deadlock with a change of the address that a link waits to be sent to', async ({ app }) => {
  await app.as(ACME).users.create({ email: 'waits@acme.test' });
  const waiting = (tx: Kysely<Database>) =>
    tx.selectFrom('users').select('id').where('email', '=', 'waits@acme.test');

  const { mails } = await claimDuring(
    app,
    (tx) => waiting(tx).forUpdate().execute(),
    (tx) =>
      tx
        .updateTable('outbox_mails')
        .set({ recipient: 'elsewhere@acme.test' })
        .where('user_id', '=', waiting(tx))
        .execute(),
  );

  assert.equal(
    mails.map(({ recipient, link }) => [recipient, link !== null]),
    [['elsewhere@acme.test', true]],
  );
});

races('do not wait for a change of the person whose mail they claim', async ({ app }) => {
  const ada = app.db().selectFrom('users').select('id').where('email', '=', ADA);
  const { id: user_id } = await ada.executeTakeFirstOrThrow();
  const due = { created_at: app.clock.now(), next_attempt_at: app.clock.now() };
  await app
    .db()
    .insertInto('outbox_mails')
    .values({ kind: 'password-changed', recipient: ADA, user_id, ...due })
    .execute();

  // A claim that waited would hold the mail, for which the change waits in turn.
  const { mails } = await app
    .db()
    .transaction()
    .execute(async (tx) => {
      await tx.selectFrom('users').select('id').where('id', '=', user_id).forUpdate().execute();
      return outboxOf(app).claim(5);
    });

  assert.equal(
    mails.map(({ recipient, attempts }) => [recipient, attempts]),
    [[ADA, 1]],
  );
});

races('let addresses change and sessions end while mails are sent', async ({ app }) => {
  await app.as(ACME).users.create({ email: 'moves-0@acme.test' });
  const root = app.as(ROOT);
  const outbox = outboxOf(app);

  for (let round = 0; round < 40; round += 1) {
    const [from, to] = [`moves-${round}@acme.test`, `moves-${round + 1}@acme.test`];
    await app.db().deleteFrom('rate_limits').execute();
    await request(app, from);
    app.clock.advance(MINUTE_MS);
    const moving = root.users.changeEmail({ email: from, new_email: to });
    // The address may have changed before.
    const ending = root.sessions
      .revokeAll({ email: from })
      .catch((error) => rejectsWith(Promise.reject(error), 'not-found'));
    await Promise.all([moving, ending, outbox.claim(5), outbox.claim(5), outbox.claim(5)]);
  }

  assert.is((await root.users.get({ email: 'moves-40@acme.test' })).is_active, true);
});

races('create no link for a user who is being deactivated', async ({ app }) => {
  const setActive = (db: Kysely<Database>, isActive: boolean) =>
    db.updateTable('users').set({ is_active: isActive }).where('email', '=', ADA).execute();
  await request(app, ADA);

  const { mails } = await claimDuring(app, (tx) => setActive(tx, false));
  await setActive(app.db(), true);

  assert.equal(mails, []);
  assert.equal(await app.db().selectFrom('outbox_mails').select('id').execute(), []);
});

races('give every claimed mail a link, even if many are created at once', async ({ app }) => {
  const now = app.clock.now().getTime();
  // The newest mails are due first, but get their links last.
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
  for (const mail of mails) assert.type(mail.link?.id, 'number');
  assert.is(new Set(mails.map((mail) => mail.link?.id)).size, mails.length);
});

races.run();
