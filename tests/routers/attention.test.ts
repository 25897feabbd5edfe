import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { emptyOutbox, outboxOf } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  IDLE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';

const SALES = 'zylTKNVx';

const CHURN = 'Qm3vR8pa';

const FLEET = 'Hb7cW2ke';

const attention = appSuite('attention');

const daysAgo = (app: TestApp, days: number) => new Date(app.clock.now().getTime() - days * DAY_MS);

const setUser = (app: TestApp, email: string, values: Record<string, unknown>) =>
  app.db().updateTable('users').set(values).where('email', '=', email).execute();

/** One of each kind for Acme, and some for Globex. */
attention.before(async ({ app }) => {
  await emptyOutbox(app);
  const db = app.db();
  await app.as(ACME).clients.invite({ id: 1, email: 'soon@guest.test' });
  await app.as(GLOBEX).clients.invite({ id: 2, email: 'failing@guest.test' });
  app.clock.advance(12 * DAY_MS);
  await app.as(ACME).clients.invite({ id: 1, email: 'fresh@guest.test' });
  const [mail] = (await outboxOf(app).claim(3)).mails;
  if (mail)
    await outboxOf(app).recordDelivery(mail, { outcome: 'refused', cause: 'recipient', reason: 'Unknown.' });

  await db.updateTable('users').set({ last_login: app.clock.now() }).execute();
  await setUser(app, ADA, { last_login: daysAgo(app, 95) });
  await setUser(app, GRACE, { last_login: daysAgo(app, 200) });
  await setUser(app, EDSGER, { last_login: daysAgo(app, 100) });
  await setUser(app, IDLE, { last_login: daysAgo(app, 300) });
  await setUser(app, GRACE, { last_password_set: daysAgo(app, 60) });
  await app.as(ROOT).clients.update({ id: 1, password_expiration_days: 59 });

  await sql`update apps set created_at = created_at - interval '400 days'`.execute(db);
  await db
    .deleteFrom('usage_app_days')
    .where('app_id', '=', CHURN)
    .where('day', '>', daysAgo(app, 31).toISOString().slice(0, 10))
    .execute();
  await app.as(ROOT).apps.update({ app_id: FLEET, in_maintenance: true });
});

const read = async (app: TestApp, as: string) => {
  const found = await app.as(as).attention.get();
  const keys = (items: object[], key: string) => items.map((item) => (item as Record<string, unknown>)[key]);
  return {
    found,
    shown: {
      failed_mails: keys(found.failed_mails.items, 'recipient'),
      expiring_invitations: keys(found.expiring_invitations.items, 'email').sort(),
      unused_apps: keys(found.unused_apps.items, 'id'),
      new_apps: keys(found.new_apps.items, 'id'),
      apps_in_maintenance: keys(found.apps_in_maintenance.items, 'id'),
      idle_users: keys(found.idle_users.items, 'email'),
      expired_passwords: keys(found.expired_passwords.items, 'email'),
    },
  };
};

attention('shows client admins what concerns their clients, and superusers everything', async ({ app }) => {
  const failed = (await app.as(ROOT).mail.list({ status: 'failed' })).map(({ recipient }) => recipient);
  assert.is(failed.length, 1);
  const soon = { [ACME]: ['soon@guest.test'], [ROOT]: ['failing@guest.test', 'soon@guest.test'] };

  const acme = (await read(app, ACME)).shown;
  const root = (await read(app, ROOT)).shown;

  assert.equal(acme.expiring_invitations, soon[ACME]);
  assert.equal(root.expiring_invitations, soon[ROOT]);
  assert.equal(root.failed_mails, failed);
  assert.equal([acme.unused_apps, root.unused_apps], [[CHURN], [CHURN]]);
  assert.equal([acme.apps_in_maintenance, root.apps_in_maintenance], [[], [FLEET]]);
  assert.equal(
    [acme.idle_users, root.idle_users],
    [
      [GRACE, ADA],
      [GRACE, EDSGER, ADA],
    ],
  );
  assert.equal([acme.expired_passwords, root.expired_passwords], [[GRACE], [GRACE]]);
  assert.equal((await read(app, GLOBEX)).shown.expired_passwords, []);
});

attention('gives the filters that list what it counts', async ({ app }) => {
  for (const as of [ROOT, ACME, GLOBEX]) {
    const { found } = await read(app, as);
    const caller = app.as(as);
    const listed = {
      failed_mails: await caller.mail.list(found.failed_mails.filter),
      expiring_invitations: await caller.invitations.search(found.expiring_invitations.filter),
      unused_apps: await caller.apps.list(found.unused_apps.filter),
      new_apps: await caller.apps.list(found.new_apps.filter),
      apps_in_maintenance: await caller.apps.list(found.apps_in_maintenance.filter),
      idle_users: await caller.users.list(found.idle_users.filter),
      expired_passwords: await caller.users.list(found.expired_passwords.filter),
    };
    for (const [name, items] of Object.entries(listed))
      assert.is(found[name as keyof typeof listed].count, items.length, `${as}: ${name}`);
  }
});

attention('shows new apps without use, which are not unused ones', async ({ app }) => {
  const { db } = app;
  const usage = await db().selectFrom('usage_app_days').selectAll().where('app_id', '=', CHURN).execute();
  await db().deleteFrom('usage_app_days').where('app_id', '=', CHURN).execute();
  const created = (days: number) =>
    db()
      .updateTable('apps')
      .set({ created_at: daysAgo(app, days) })
      .where('id', '=', CHURN)
      .execute();
  const shown = async (as: string) => {
    const { unused_apps, new_apps } = (await read(app, as)).shown;
    return [unused_apps, new_apps];
  };
  await created(20);
  assert.equal(await shown(ACME), [[], [CHURN]]);
  assert.equal(await shown(GLOBEX), [[], []]);
  await created(40);
  assert.equal(await shown(ACME), [[CHURN], []]);
  await db().insertInto('usage_app_days').values(usage).execute();
  await created(412);
});

attention('counts more than it shows', async ({ app }) => {
  for (let n = 0; n < 7; n += 1) await app.as(ACME).clients.invite({ id: 1, email: `many${n}@guest.test` });
  await app
    .db()
    .updateTable('invitations')
    .set({ expires_at: new Date(app.clock.now().getTime() + DAY_MS) })
    .where('email', 'like', 'many%')
    .execute();

  const { expiring_invitations } = await app.as(ACME).attention.get();

  assert.equal([expiring_invitations.count, expiring_invitations.items.length], [8, 5]);
});

attention('is for staff as for superusers, and refused to members', async ({ app }) => {
  assert.equal(await app.as(STAFF).attention.get(), await app.as(ROOT).attention.get());
  await rejectsWith(app.as(ADA).attention.get(), 'forbidden');
});

attention(
  'filters apps in streamed lists and in pages, without revealing usage to members',
  async ({ app }) => {
    const ids = async (query: string, as = ROOT) =>
      (await app.send(`GET /jb/apps/?${query}`, { as })).json().map(({ id }: { id: string }) => id);

    assert.equal(await ids('is_unused=true'), [CHURN]);
    assert.equal(await ids('is_unused=true&page_size=5'), [CHURN]);
    assert.equal(await ids('is_unused=false&limit=5'), [SALES, FLEET]);
    assert.equal(await ids('in_maintenance=false'), [SALES, CHURN]);
    assert.equal(await ids('in_maintenance=true&is_unused=false'), [FLEET]);
    assert.equal(await ids('is_unused=true', ADA), []);
    assert.equal(await ids('is_unused=false', ADA), [SALES, CHURN]);
  },
);

attention.run();
