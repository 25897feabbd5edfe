import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { kysely } from '../../src/db/kysely.ts';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { setApp } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GRACE, ROOT } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const view = appSuite('access view');

view.before(({ app }) => setApp(app, { launch_url: 'https://sales.example.com/' }));

view('can be deactivated, but not changed, if it was created by embed', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { url } = await admin.embed({ app: 'sales', email: ADA });
  const key = url.slice(-33, -1);

  for (const changes of [{ allowed_uses_cnt: 0 }, { expires_at: null }, { is_active: true }])
    await rejectsWith(admin.update({ key, ...changes }), 'not-found');
  await admin.deactivate({ key });
  assert.is((await admin.get({ key })).is_active, false);
  for (const columns of [{ allowed_uses: 0 }, { expires_at: null }]) {
    const changed = app.db().updateTable('access_views').set(columns).where('key', '=', key).execute();
    const error = await changed.then(
      () => null,
      (reason: Error) => reason,
    );
    assert.match(String(error?.message), /access_views_one_time_check/);
  }
});

view('changes what is given, and keeps the app and the user', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const made = await admin.create({ app: 'sales', user: ADA, stack_slug: 'trends', flags: { color: 'red' } });
  app.clock.advance(MINUTE_MS);
  const { key } = made;

  assert.equal(await admin.update({ key }), made);
  const changes = {
    allowed_uses_cnt: 0,
    expires_at: new Date('2030-01-01T00:00:00Z'),
    allowed_networks: ' 10.1.0.0/16\n2001:DB8::/32,, 192.0.2.1 ',
    language_code: 'de',
  };
  assert.equal(await admin.update({ key, ...changes, app: 'sales', user: ADA }), {
    ...made,
    ...changes,
    allowed_networks: '10.1.0.0/16,2001:db8::/32,192.0.2.1/32',
    modified: app.clock.now(),
  });
  for (const [field, changed] of [
    ['app', { app: 'churn' }],
    ['user', { user: GRACE }],
    ['user', { user: null }],
  ] as const)
    assert.equal(
      Object.keys((await rejectsWith(admin.update({ key, ...changed }), 'invalid-input')).fields ?? {}),
      [field],
    );
});

view('does not allow fewer uses than there were', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'sales', allowed_uses_cnt: 5 });
  await app.db().updateTable('access_views').set({ uses: 3 }).where('key', '=', key).execute();

  assert.ok(
    (await rejectsWith(admin.update({ key, allowed_uses_cnt: 2 }), 'invalid-input')).fields?.allowed_uses_cnt,
  );
  assert.is((await admin.update({ key, allowed_uses_cnt: 3 })).allowed_uses_cnt, 3);
  assert.is((await admin.update({ key, allowed_uses_cnt: 0 })).allowed_uses_cnt, 0);
});

view('accepts a stack that the app has dropped, if the view has it', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'churn', stack_slug: 'churn' });
  const offer = (is_offered: boolean) =>
    app.db().updateTable('stacks').set({ is_offered }).where('id', '=', 'c2c73a68').execute();
  await offer(false);

  assert.is((await admin.update({ key, stack_slug: 'churn', show_header: false })).show_header, false);
  await rejectsWith(admin.create({ app: 'churn', stack_slug: 'churn' }), 'invalid-input');
  assert.is((await admin.update({ key, stack_slug: '' })).stack_slug, null);
  await rejectsWith(admin.update({ key, stack_slug: 'churn' }), 'invalid-input');
  await offer(true);
});

view('is deactivated, which is recorded once, and activated again', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'churn', user: ADA, data_permissions: { region: 'north' } });

  await admin.deactivate({ key });
  await admin.deactivate({ key });
  assert.is((await admin.get({ key })).is_active, false);
  assert.is((await admin.update({ key, is_active: true, data_permissions: null })).is_active, true);

  const entries = (await app.as(ACME).audit.list({ target: 'churn', limit: 3 })).reverse();
  assert.equal(
    entries.map(({ action, actor }) => [action, actor]),
    ['create', 'deactivate', 'update'].map((verb) => [`access-view.${verb}`, ACME]),
  );
  assert.is(entries[0]?.details.user, ADA);
  assert.equal(entries[2]?.details.is_active, { from: false, to: true });
  assert.equal(entries[2]?.details.data_permissions, { from: null, to: null });
  assert.not.match(JSON.stringify(entries), new RegExp(`${key}|north`));
});

view('of a person who has left stays off, and says nothing of the roles that they get', async ({ app }) => {
  const user = 'left-view@acme.test';
  const admin = app.as(ACME).accessViews;
  await app.as(ACME).users.create({ email: user, apps: [SALES] });
  const { key } = await admin.create({ app: 'sales', user });
  await app.as(ACME).memberships.remove({ id: 1, email: user });

  const { fields } = await rejectsWith(admin.update({ key, is_active: true }), 'invalid-input');
  assert.match(fields?.is_active?.[0] ?? '', /does not belong/);
  const read = async () => [
    await admin.get({ key }),
    (await admin.screen({ app: 'sales' })).find((row) => row.user === user)?.is_person_active,
  ];
  const before = await read();
  await app.as(ROOT).roles.update({ email: user, is_staff: true });

  assert.equal(await read(), before);
});

view(
  'of a person who has left is refused without a wait for other changes of the person',
  async ({ app }) => {
    const user = 'locked-view@acme.test';
    const admin = app.as(ACME).accessViews;
    await app.as(ACME).users.create({ email: user, apps: [SALES] });
    const { key } = await admin.create({ app: 'sales', user });
    await app.as(ACME).memberships.remove({ id: 1, email: user });
    await app.db().updateTable('access_views').set({ is_active: true }).where('key', '=', key).execute();

    await app.orm.em.fork().transactional(async (tx) => {
      await sql`select from users where email = ${user} for update`.execute(kysely(tx));
      const outcome = await app.openServices().viewOpening.open({ key, userAgent: 'test', visitor: null });
      assert.is('refusal' in outcome && outcome.refusal, 'not-granted');
    });
  },
);

view('is found by its id too, which a use does not change', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const made = await admin.create({ app: 'sales', autorotate: true, allowed_uses_cnt: 0 });
  const key = String(made.id);
  await app.send(`GET !/v/${made.key}/`, { headers: { accept: 'text/html' } });

  await rejectsWith(admin.get({ key: made.key }), 'not-found');
  assert.is((await admin.get({ key })).usages_cnt, 1);
  assert.is((await admin.uses({ key })).length, 1);
  assert.is((await admin.update({ key, show_header: false })).show_header, false);
  await admin.deactivate({ key });
  assert.is((await admin.get({ key })).is_active, false);
  const [next] = await admin.list({ limit: 1, cursor: key });
  assert.ok(next && next.id < made.id);
});

view.run();
