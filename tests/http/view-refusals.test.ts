import * as assert from 'uvu/assert';
import { createView, type NewView, openView, viewOf, viewSuite } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, GLOBEX, GRACE, ROOT } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const refusals = viewSuite('opening an access view');

refusals('says why a view does not open the app', async ({ app }) => {
  const at = async (input: NewView, status: number, text: RegExp) => {
    const { key } = await createView(app, { allowed_uses_cnt: 0, ...input });
    const response = await openView(app, key);
    assert.is(response.statusCode, status, response.body);
    assert.match(response.body, text);
    assert.match(response.body, /Acme Analytics/);
    assert.is(response.headers['set-cookie'], undefined);
    assert.is((await viewOf(app, key)).usages_cnt, 0);
  };
  await at({ is_active: false }, 410, /This link was revoked/);
  await at({ expires_at: new Date('2020-02-01T10:00:00Z') }, 410, /1 Feb 2020, 10:00 UTC/);
  await at({ allowed_networks: '192.0.2.0/24' }, 403, /does not work in your network/);
  const root = app.as(ROOT);
  await app.as(ACME).apps.update({
    app_id: SALES,
    in_maintenance: true,
    maintenance_message: 'Back <b>soon</b><script>x</script>',
  });
  await at({ user: ADA }, 503, /Sales is in maintenance[\s\S]*Back <b>soon<\/b></);
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: false, maintenance_message: '' });
  await root.clients.updateGate({ id: 1, is_open: false });
  await at({}, 403, /This app is closed/);
  await root.clients.updateGate({ id: 1, is_open: true });
});

refusals('has the branding of the client of the app, whatever the host', async ({ app }) => {
  const { key } = await app.as(GLOBEX).accessViews.create({ app: 'fleet', is_active: false });
  const { body } = await app.send(`GET !/v/${key}/`, {
    headers: { accept: 'text/html', host: 'localhost:8000' },
  });

  assert.match(body, /<title>This link was revoked – Globex Data<\/title>/);
  assert.not.match(body, /Acme/);
});

refusals('refuses a view whose user was deactivated, or lost the app', async ({ app }) => {
  const root = app.as(ROOT);
  const { key } = await createView(app, { user: GRACE, allowed_uses_cnt: 0 });

  await root.users.update({ email: GRACE, is_active: false });
  assert.match((await openView(app, key)).body, /Its user no longer has access to Sales/);
  await root.users.update({ email: GRACE, is_active: true, apps: [] });
  assert.is((await openView(app, key)).statusCode, 403);
  await root.users.update({ email: GRACE, apps: [SALES] });
  assert.is((await openView(app, key)).statusCode, 303);
  assert.is((await viewOf(app, key)).usages_cnt, 1);
});

refusals(
  'refuses a view whose user became a superuser, unless a superuser made it for one',
  async ({ app }) => {
    const root = app.as(ROOT);
    const byAdmin = await createView(app, { user: GRACE, allowed_uses_cnt: 0 });
    const input = { app: 'sales', user: GRACE, allowed_uses_cnt: 0 };
    // Client admins know its key too: its user was a member.
    const ofMember = await root.accessViews.create(input);
    await root.roles.update({ email: GRACE, is_staff: true });
    const bySuperuser = await root.accessViews.create(input);
    await root.roles.update({ email: GRACE, is_staff: false });
    const statuses = async () => [
      (await openView(app, byAdmin.key)).statusCode,
      (await openView(app, ofMember.key)).statusCode,
      (await openView(app, bySuperuser.key)).statusCode,
    ];

    for (const role of ['is_superuser', 'is_staff'] as const) {
      const location = new URL(String((await openView(app, byAdmin.key)).headers.location));
      const code = String(location.searchParams.get('code'));
      await root.roles.update({ email: GRACE, [role]: true });
      assert.equal(await statuses(), [403, 403, 303], role);
      await rejectsWith(app.as(null).tickets.exchange({ code, app: 'sales' }), 'invalid-launch-code');
      await root.roles.update({ email: GRACE, [role]: false });
      assert.equal(await statuses(), [303, 303, 303]);
    }
  },
);

refusals('expires by the clock of the database', async ({ app }) => {
  const { key } = await createView(app, { allowed_uses_cnt: 0 });
  const expireIn = (seconds: number) =>
    app
      .db()
      .updateTable('access_views')
      .set({ expires_at: new Date(app.clock.now().getTime() + seconds * 1000) })
      .where('key', '=', key)
      .execute();

  await expireIn(60);
  assert.is((await openView(app, key)).statusCode, 303);
  await expireIn(-1);
  assert.is((await openView(app, key)).statusCode, 410);
});

refusals('shows the page for a refusal in frames of the sites of the client', async ({ app }) => {
  const { key } = await createView(app, { is_active: false });
  const policyOf = async () => String((await openView(app, key)).headers['content-security-policy']);

  assert.match(await policyOf(), /frame-ancestors 'none'/);
  assert.is((await openView(app, key)).headers['x-frame-options'], 'DENY');
  const embed_origins = ['https://portal.example.com', 'https://other.example.com:8443'];
  await app.as(ROOT).clients.updateGate({ id: 1, embed_origins });
  assert.match(
    await policyOf(),
    /frame-ancestors https:\/\/portal\.example\.com https:\/\/other\.example\.com:8443;/,
  );
  assert.is((await openView(app, key)).headers['x-frame-options'], undefined);
  assert.match(String((await openView(app, 'f'.repeat(32))).headers['content-security-policy']), /'none'/);
  await app.as(ROOT).clients.updateGate({ id: 1, embed_origins: [] });
});

refusals(
  'answers unknown keys alike, also malformed ones, and throttles their guesses by network',
  async ({ app }) => {
    await app.db().deleteFrom('rate_limits').execute();
    const unknown = ['f'.repeat(32), 'x', '%00', "'", 'é'.repeat(200)];
    const bodies = new Set<string>();
    for (const key of unknown) {
      const response = await openView(app, encodeURIComponent(key).replace('%2500', '%00'));
      assert.is(response.statusCode, 404, key);
      bodies.add(response.body);
    }
    assert.is(bodies.size, 1);
    const { key } = await createView(app);
    const guesses = await Promise.all(Array.from({ length: 100 }, () => openView(app, 'f'.repeat(32))));
    assert.ok(guesses.some(({ statusCode }) => statusCode === 404));
    const blocked = await openView(app, 'e'.repeat(32));
    assert.is(blocked.statusCode, 429);
    assert.ok(Number(blocked.headers['retry-after']) > 0);
    assert.is((await openView(app, key)).statusCode, 303);
  },
);

refusals('limits the uses of an unlimited view from one network', async ({ app }) => {
  const { key, id } = await createView(app, { allowed_uses_cnt: 0 });
  assert.is((await openView(app, key)).statusCode, 303);
  const counted = app.db().updateTable('rate_limits').where('key', 'like', `view-${id}-network:%`);

  await counted.set({ points: 999 }).execute();
  assert.is((await openView(app, key)).statusCode, 303);
  const refused = await openView(app, key);
  assert.is(refused.statusCode, 429);
  assert.ok(Number(refused.headers['retry-after']) > 0);
  assert.is((await viewOf(app, key)).usages_cnt, 2);
  const other = await createView(app, { allowed_uses_cnt: 0 });
  assert.is((await openView(app, other.key)).statusCode, 303);
  await counted.set({ points: 0 }).execute();
  assert.is((await openView(app, key)).statusCode, 303);
});

refusals.run();
