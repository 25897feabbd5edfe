import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { fieldOf } from '../support/lists.ts';
import { emptyOutbox, outboxOf } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowsOf, setRows } from '../support/rows.ts';
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
import { inDays } from '../support/time.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const attention = appSuite('attention');

/** One of each kind for Acme, and some for Globex. */
attention.before(async ({ app }) => {
  await emptyOutbox(app);
  await app.as(ACME).clients.invite({ id: 1, email: 'soon@guest.test' });
  await app.as(GLOBEX).clients.invite({ id: 2, email: 'failing@guest.test' });
  app.clock.advance(12 * DAY_MS);
  await app.as(ACME).clients.invite({ id: 1, email: 'fresh@guest.test' });
  const [mail] = (await outboxOf(app).claim(3)).mails;
  const failure = { outcome: 'refused', cause: 'recipient', reason: 'Unknown.' } as const;
  if (mail) await outboxOf(app).recordDelivery(mail, failure);

  await app.db().deleteFrom('usage_days').execute();
  await setRows(app, 'users', {}, { last_login: app.clock.now(), date_joined: inDays(app, -400) });
  for (const [email, days] of [
    [ADA, 95],
    [GRACE, 200],
    [EDSGER, 100],
    [IDLE, 300],
  ] as const)
    await setRows(app, 'users', { email }, { last_login: inDays(app, -days) });
  await setRows(app, 'users', { email: GRACE }, { last_password_set: inDays(app, -60) });
  await app.as(ROOT).clients.update({ id: 1, password_expiration_days: 59 });

  const db = app.db();
  await sql`update apps set created_at = created_at - interval '400 days'`.execute(db);
  await sql`delete from usage_app_days where app_id = ${CHURN} and day > ${inDays(app, -31)}`.execute(db);
  await app.as(ROOT).apps.update({ app_id: FLEET, in_maintenance: true });
});

const read = async (app: TestApp, as: string, client?: number) => {
  const found = await app.as(as).attention.get({ client });
  return {
    failed_mails: fieldOf(found.failed_mails.items, 'recipient'),
    expiring_invitations: fieldOf(found.expiring_invitations.items, 'email').sort(),
    unused_apps: fieldOf(found.unused_apps.items, 'id'),
    new_apps: fieldOf(found.new_apps.items, 'id'),
    apps_in_maintenance: fieldOf(found.apps_in_maintenance.items, 'id'),
    idle_users: fieldOf(found.idle_users.items, 'email'),
    expired_passwords: fieldOf(found.expired_passwords.items, 'email'),
  };
};

attention('shows client admins what concerns their clients, and superusers everything', async ({ app }) => {
  const [acme, root] = [await read(app, ACME), await read(app, ROOT)];

  assert.equal(acme.expiring_invitations, ['soon@guest.test']);
  assert.equal(root.expiring_invitations, ['failing@guest.test', 'soon@guest.test']);
  assert.equal(root.failed_mails, fieldOf(await app.as(ROOT).mail.list({ status: 'failed' }), 'recipient'));
  assert.is(root.failed_mails.length, 1);
  assert.equal([acme.unused_apps, root.unused_apps], [[CHURN], [CHURN]]);
  assert.equal([acme.apps_in_maintenance, root.apps_in_maintenance], [[], [FLEET]]);
  assert.equal(acme.idle_users, [GRACE, ADA]);
  assert.equal(root.idle_users, [GRACE, EDSGER, ADA]);
  assert.equal([acme.expired_passwords, root.expired_passwords], [[GRACE], [GRACE]]);
  assert.equal((await read(app, GLOBEX)).expired_passwords, []);
});

attention(
  'shows superusers what concerns a client that they choose, as its admins see it',
  async ({ app }) => {
    for (const [client, admin] of [
      [1, ACME],
      [2, GLOBEX],
    ] as const)
      assert.equal(await read(app, ROOT, client), await read(app, admin));
    await rejectsWith(app.as(ACME).attention.get({ client: 2 }), 'not-found');
  },
);

attention('gives the filters that list what it counts', async ({ app }) => {
  for (const [as, input] of [
    [ROOT],
    [ROOT, { client: 1 }],
    [ROOT, { client: 2 }],
    [ACME],
    [GLOBEX],
  ] as const) {
    const caller = app.as(as);
    const found = await caller.attention.get(input);
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
  const usage = await rowsOf(app, 'usage_app_days', { app_id: CHURN });
  await sql`delete from usage_app_days where app_id = ${CHURN}`.execute(app.db());
  const created = (days: number) => setRows(app, 'apps', { id: CHURN }, { created_at: inDays(app, -days) });
  const shown = async (as: string) => {
    const { unused_apps, new_apps } = await read(app, as);
    return [unused_apps, new_apps];
  };
  await created(20);
  assert.equal(await shown(ACME), [[], [CHURN]]);
  assert.equal(await shown(GLOBEX), [[], []]);
  await created(40);
  assert.equal(await shown(ACME), [[CHURN], []]);
  await addRows(app, 'usage_app_days', usage);
  await created(412);
});

attention('counts more than it shows', async ({ app }) => {
  for (let n = 0; n < 7; n += 1) await app.as(ACME).clients.invite({ id: 1, email: `many${n}@guest.test` });
  await setRows(app, 'invitations', {}, { expires_at: inDays(app, 1) });

  const { expiring_invitations } = await app.as(ACME).attention.get();

  assert.equal([expiring_invitations.count, expiring_invitations.items.length], [9, 5]);
});

attention('is for staff as for superusers, and refused to members', async ({ app }) => {
  assert.equal(await app.as(STAFF).attention.get(), await app.as(ROOT).attention.get());
  await rejectsWith(app.as(ADA).attention.get(), 'forbidden');
});

attention('filters apps in streamed lists and pages, without revealing usage to members', async ({ app }) => {
  const ids = async (query: string, as = ROOT) =>
    (await app.send(`GET /jb/apps/?${query}`, { as })).json().map(({ id }: { id: string }) => id);

  assert.equal(await ids('is_unused=true'), [CHURN]);
  assert.equal(await ids('is_unused=true&page_size=5'), [CHURN]);
  assert.equal(await ids('is_unused=false&limit=5'), [SALES, FLEET]);
  assert.equal(await ids('in_maintenance=false'), [SALES, CHURN]);
  assert.equal(await ids('in_maintenance=true&is_unused=false'), [FLEET]);
  assert.equal(await ids('is_unused=true', ADA), []);
  assert.equal(await ids('is_unused=false', ADA), [SALES, CHURN]);
});

attention.run();
