import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const cache = appSuite('apps.clearCache');

const eventsOf = (app: TestApp, who: string, target = 'sales') =>
  app.as(who).audit.list({ action: 'app.clear-cache', target });

cache('announces an event to the admins of the client and to superusers', async ({ app }) => {
  await app.as(ACME).apps.clearCache({ app_id: SALES });

  const [event] = await eventsOf(app, ACME);
  assert.equal(
    { ...event, id: 0, request_id: '' },
    {
      id: 0,
      timestamp: app.clock.now(),
      action: 'app.clear-cache',
      actor: ACME,
      target: 'sales',
      clients: [1],
      details: { app_id: SALES },
      request_id: '',
      address: '127.0.0.1',
    },
  );
  assert.is((await eventsOf(app, ROOT)).length, 1);
  assert.equal(await eventsOf(app, GLOBEX), []);
});

cache('announces it to staff, whose tokens platforms have, and nothing else', async ({ app }) => {
  await app.as(ACME).apps.clearCache({ app_id: SALES });

  const all = await app.as(STAFF).audit.list({ limit: 200 });
  assert.ok(all.length > 0);
  assert.ok(all.every(({ action }) => action === 'app.clear-cache'));
  const [event] = await eventsOf(app, STAFF);
  assert.equal([event?.clients, event?.details], [[1], { app_id: SALES }]);
  assert.is((await app.as(STAFF).audit.list({ client: 1 })).length, all.length);
  assert.equal(await app.as(STAFF).audit.list({ client: 2 }), []);
  assert.equal(await app.as(STAFF).audit.list({ action: 'app.update' }), []);
});

cache('shows staff who administer a client its entries, too', async ({ app }) => {
  const root = app.as(ROOT);
  await root.roles.setClientAdmin({ id: 2, email: STAFF, is_admin: true });
  await root.apps.update({ app_id: SALES, label: 'Sales 2' });
  await root.apps.update({ app_id: FLEET, label: 'Fleet 2' });

  const updated = await app.as(STAFF).audit.list({ action: 'app.update' });
  assert.equal(
    updated.map(({ target }) => target),
    ['fleet'],
  );
  await root.roles.setClientAdmin({ id: 2, email: STAFF, is_admin: false });
});

cache('announces each call, and changes nothing of the app', async ({ app }) => {
  const before = await app.as(ROOT).apps.get({ app_id: FLEET });
  await app.as(ROOT).apps.clearCache({ app_id: FLEET });
  await app.as(GLOBEX).apps.clearCache({ app_id: FLEET });

  const events = await eventsOf(app, ROOT, 'fleet');
  assert.equal(
    events.map(({ actor }) => actor),
    [GLOBEX, ROOT],
  );
  assert.equal(await app.as(ROOT).apps.get({ app_id: FLEET }), before);
});

cache('requires the role of those who may change the app', async ({ app }) => {
  const events = () =>
    app.db().selectFrom('audit_entries').select('id').where('action', '=', 'app.clear-cache');
  const before = (await events().execute()).length;
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: true });

  await rejectsWith(app.as(STAFF).apps.clearCache({ app_id: SALES }), 'forbidden');
  await rejectsWith(app.as(ADA).apps.clearCache({ app_id: SALES }), 'forbidden');
  await rejectsWith(app.as(ACME).apps.clearCache({ app_id: FLEET }), 'not-found');
  await rejectsWith(app.as(ACME).apps.clearCache({ app_id: 'unknown' }), 'not-found');
  // A member of the other client, who can open the app.
  await rejectsWith(app.as(EDSGER).apps.clearCache({ app_id: FLEET }), 'forbidden');
  await rejectsWith(app.as(null).apps.clearCache({ app_id: SALES }), 'unauthenticated');

  assert.is((await events().execute()).length, before);
});

cache('answers DELETE with 204, also without the slash, and once per Idempotency-Key', async ({ app }) => {
  const before = (await eventsOf(app, ROOT)).length;
  for (const scheme of ['Token', 'Bearer', 'JWT']) {
    const headers = {
      authorization: `${scheme} ${await app.tokenOf(ACME)}`,
      'idempotency-key': 'clear-once',
    };
    for (const path of [`/jb/apps/${SALES}/clear_cache/`, `/jb/apps/${SALES}/clear_cache`]) {
      const response = await app.send(`DELETE ${path}`, { headers });
      assert.equal([response.statusCode, response.body], [204, '']);
    }
  }

  assert.is((await eventsOf(app, ROOT)).length, before + 1);
  assert.is((await app.send(`GET /jb/apps/${SALES}/clear_cache/`, { as: ACME })).statusCode, 405);
});

cache.run();
