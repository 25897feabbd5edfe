import * as assert from 'uvu/assert';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { askGate, claimsIn, openedView, setApp } from '../support/access-views.ts';
import { createScript } from '../support/http-clients.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GRACE, ROOT } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const gate = appSuite('forward authentication of access views');

gate.before(({ app }) => setApp(app, { launch_url: 'https://sales.example.com/' }));

gate('admits who has opened an access view of this app, before the login', async ({ app }) => {
  const { viewId, headers } = await openedView(app, { data_permissions: { region: ['North'] } });
  const asGuest = await askGate(app, { headers });
  assert.is(asGuest.statusCode, 204, asGuest.body);
  assert.is(asGuest.headers['x-steward-user'], `view:${viewId}`);
  assert.is(asGuest.headers['x-steward-roles'], 'guest');
  const claims = claimsIn(String(asGuest.headers['x-steward-ticket']));
  assert.equal([claims.access_view, claims.data_permissions], [viewId, { region: ['North'] }]);
  assert.is((await askGate(app, { as: GRACE, headers })).headers['x-steward-user'], `view:${viewId}`);
  // The cookie of one app opens no other.
  const elsewhere = { cookie: headers.cookie.replace('_sales', '_churn') };
  assert.is((await askGate(app, { headers: elsewhere }, '/gate/churn/')).statusCode, 401);
});

gate('refuses a view that has ended at the next request, but not the login beside it', async ({ app }) => {
  const { viewId, headers, secret } = await openedView(app, { user: GRACE });
  assert.is((await askGate(app, { headers })).headers['x-steward-user'], GRACE);

  await app.db().updateTable('access_views').set({ is_active: false }).where('id', '=', viewId).execute();
  assert.is((await askGate(app, { headers })).statusCode, 403);
  assert.is((await askGate(app, { as: ADA, headers })).headers['x-steward-user'], ADA);
  await app.db().updateTable('access_views').set({ is_active: true }).where('id', '=', viewId).execute();
  await app.db().deleteFrom('app_grants').where('app_id', '=', SALES).execute();
  assert.is((await askGate(app, { headers })).statusCode, 403);
  const past = new Date(app.clock.now().getTime() - 1);
  await app
    .db()
    .updateTable('embed_sessions')
    .set({ expires_at: past })
    .where('digest', '=', tokenDigest(secret))
    .execute();
  assert.is((await askGate(app, { headers })).statusCode, 401);
});

gate('compares the current networks of a view at each request', async ({ app }) => {
  const { viewId, headers } = await openedView(app);
  const limitTo = (allowed_networks: string[]) =>
    app.db().updateTable('access_views').set({ allowed_networks }).where('id', '=', viewId).execute();

  await limitTo(['127.0.0.0/8']);
  assert.is((await askGate(app, { headers })).statusCode, 204);
  await limitTo(['192.0.2.0/24']);
  assert.is((await askGate(app, { headers })).statusCode, 403);
  assert.is((await askGate(app, { as: ACME, headers })).headers['x-steward-user'], ACME);
  await limitTo([]);
  assert.is((await askGate(app, { headers })).statusCode, 204);
});

gate('admits no view whose user became a superuser, unless a superuser created it', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES] });
  const { viewId, headers } = await openedView(app, { user: GRACE });
  assert.is((await askGate(app, { headers })).headers['x-steward-roles'], 'member');

  for (const role of ['is_superuser', 'is_staff'] as const) {
    await app.as(ROOT).roles.update({ email: GRACE, [role]: true });
    assert.is((await askGate(app, { headers })).statusCode, 403, role);
    const bySuperuser = (by_superuser: boolean) =>
      app.db().updateTable('access_views').set({ by_superuser }).where('id', '=', viewId).execute();
    await bySuperuser(true);
    assert.is((await askGate(app, { headers })).statusCode, 204, role);
    await bySuperuser(false);
    await app.as(ROOT).roles.update({ email: GRACE, [role]: false });
  }
});

gate('is open to the login again after the app was launched', async ({ app }) => {
  const script = createScript(app);
  await script.logIn(ROOT, DEMO_PASSWORD);
  const { headers } = await openedView(app);
  const cookie = `${headers.cookie}; steward_session=${script.cookies.get('steward_session')}`;
  const response = await app.send('GET !/launch/sales/', { headers: { cookie, accept: 'text/html' } });

  assert.is(response.statusCode, 303);
  const ended = response.cookies.find(({ name }) => name === '__Host-steward_embed_sales');
  assert.equal([ended?.value, ended?.secure, ended?.sameSite], ['', true, 'None']);
  assert.ok(Number(ended?.expires) < Date.now());
});

gate.run();
