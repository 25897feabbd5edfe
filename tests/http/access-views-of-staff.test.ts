import * as assert from 'uvu/assert';
import { setApp } from '../support/access-views.ts';
import { fillLists, readEndpoints } from '../support/every-read.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const views = appSuite('access views, read by staff');
views.before(async ({ app }) => {
  await fillLists(app);
  await setApp(app, { launch_url: 'https://sales.example.com/' });
});

const PATH = '/access_views/';
const CSV = { accept: 'text/csv' };

const create = (app: TestApp, input = {}) => app.as(ACME).accessViews.create({ app: 'sales', ...input });
const open = (app: TestApp, key: string) => app.send(`GET !/v/${key}/`, { headers: { accept: 'text/html' } });
const storedKeys = async (app: TestApp): Promise<string[]> => {
  const db = app.db();
  const current = await db.selectFrom('access_views').select('key').execute();
  const used = await db.selectFrom('access_view_uses').select('raw_key as key').execute();
  return [...current, ...used].map(({ key }) => key);
};

/** Gives the administration of the first client to staff while `run` runs. */
const asAdmin = async (app: TestApp, run: () => Promise<void>) => {
  const setAdmin = (is_admin: boolean) =>
    app.as(ROOT).roles.setClientAdmin({ id: 1, email: STAFF, is_admin });
  await setAdmin(true);
  await run();
  await setAdmin(false);
};

views('are those of all clients, without keys and addresses', async ({ app }) => {
  const fleet = await app.as(GLOBEX).accessViews.create({ app: 'fleet', user: EDSGER });
  const sales = await create(app, { user: ADA, data_permissions: { region: ['north'] } });

  const staff = app.as(STAFF).accessViews;
  for (const made of [fleet, sales]) {
    const shown = { ...made, key: '', url: '' };
    assert.equal(await staff.get({ key: String(made.id) }), shown);
    assert.equal((await staff.list({ app: made.app }))[0], shown);
    assert.equal(
      (await app.send(`GET ${PATH}${made.id}/`, { as: STAFF })).json(),
      JSON.parse(JSON.stringify(shown)),
    );
  }
  assert.is((await staff.list({})).length, (await app.as(ROOT).accessViews.list({})).length);
});

views('have no key in any format of the list and of the uses, and over tRPC', async ({ app }) => {
  const { id, key } = await create(app, { autorotate: true, allowed_uses_cnt: 0 });
  assert.is((await open(app, key)).statusCode, 303);
  const keys = await storedKeys(app);
  assert.ok(keys.includes(key));
  const uses = `${PATH}${id}/usage/`;
  const embedded = (await app.as(ACME).accessViews.embed({ app: 'sales', email: ADA })).url.slice(-33, -1);

  for (const path of [PATH, uses, '!/api/v2/accessviews/', `!/api/v2/accessviews/${id}/usage/`])
    for (const query of ['', '?page_size=1000'])
      for (const headers of [{}, CSV, { accept: 'text/html' }]) {
        const { statusCode, body } = await app.send(`GET ${path}${query}`, { as: STAFF, headers });
        assert.is(statusCode, 200, body);
        for (const secret of [...keys, embedded, '/v/']) assert.not.ok(body.includes(secret), path + query);
      }
  const csv = (await app.send(`GET ${uses}`, { as: STAFF, headers: CSV })).body;
  assert.match(csv, /^raw_key,.*\r?\n,/);
  assert.is((await app.as(STAFF).accessViews.uses({ key: String(id) }))[0]?.raw_key, '');
  assert.is((await app.as(ACME).accessViews.uses({ key: String(id) }))[0]?.raw_key, key);
});

views('do not show to staff whether a key is right', async ({ app }) => {
  const { id, key } = await create(app);
  const { url } = await app.as(ACME).accessViews.embed({ app: 'sales', email: ADA });
  const staff = app.as(STAFF).accessViews;
  const wrong = 'f'.repeat(32);

  for (const right of [key, url.slice(-33, -1)]) {
    await rejectsWith(staff.get({ key: right }), 'not-found');
    await rejectsWith(staff.uses({ key: right }), 'not-found');
    await rejectsWith(staff.list({ limit: 1, cursor: right }), 'invalid-input');
    for (const path of [`${PATH}KEY/`, `${PATH}KEY/usage/`, `${PATH}?cursor=KEY&limit=1`]) {
      const send = async (sent: string) => {
        const { statusCode, body } = await app.send(`GET ${path.replace('KEY', sent)}`, { as: STAFF });
        return { statusCode, body: body.replaceAll(sent, 'KEY').replace(/"instance":"[^"]*"/, '') };
      };
      assert.equal(await send(right), await send(wrong), path);
    }
  }
  const [next] = await staff.list({ limit: 1, cursor: String(id) });
  assert.ok(next && next.id < id);
});

views('are not changed, created or embedded by staff', async ({ app }) => {
  const { id, key } = await create(app);
  const staff = app.as(STAFF).accessViews;

  for (const named of [key, String(id)])
    for (const call of [
      () => staff.update({ key: named, is_active: false }),
      () => staff.deactivate({ key: named }),
      () => app.as(STAFF).tickets.revoke({ access_view: named }),
      () => staff.create({ app: 'sales' }),
      () => staff.embed({ app: 'sales', email: ADA }),
    ]) {
      const refused = await rejectsWith(call(), 'forbidden');
      assert.match(refused.message, /client admin or superuser/);
    }
  for (const line of [`PATCH ${PATH}${id}/`, `PUT ${PATH}${id}/`, `DELETE ${PATH}${id}/`])
    for (const headers of [{}, { 'if-match': '*' }])
      assert.is((await app.send(line, { as: STAFF, headers, payload: {} })).statusCode, 403, line);
  assert.is((await app.as(ACME).accessViews.get({ key })).is_active, true);
});

views('have keys for staff who administer a client, for views that they manage', async ({ app }) => {
  const own = await create(app, { user: ADA });
  const ofRoot = await app.as(ROOT).accessViews.create({ app: 'sales', user: ROOT });
  const foreign = await app.as(GLOBEX).accessViews.create({ app: 'fleet' });

  await asAdmin(app, async () => {
    const both = app.as(STAFF).accessViews;
    assert.equal(await both.get({ key: own.key }), own);
    const listed = await both.list({});
    const keyOf = ({ id }: { id: number }) => listed.find((view) => view.id === id)?.key;
    assert.equal([own, ofRoot, foreign].map(keyOf), [own.key, '', '']);
    assert.is((await both.update({ key: own.key, show_header: false })).key, own.key);
    for (const [{ id, key }, reason] of [
      [foreign, /client admin of client 2, or superuser/],
      [ofRoot, /^This needs the role superuser.$/],
    ] as const) {
      await rejectsWith(both.get({ key }), 'not-found');
      await rejectsWith(both.deactivate({ key }), 'not-found');
      for (const change of [both.deactivate, both.update])
        assert.match((await rejectsWith(change({ key: String(id) }), 'forbidden')).message, reason);
      const headers = { 'if-match': '*' };
      const changed = await app.send(`PATCH ${PATH}${id}/`, { as: STAFF, headers, payload: {} });
      assert.is(changed.statusCode, 403);
    }
  });
  assert.is((await app.as(STAFF).accessViews.get({ key: String(own.id) })).key, '');
});

views('leave no key in anything that staff can read, and neither do their uses', async ({ app }) => {
  const { key } = await create(app, { user: ADA });
  assert.is((await open(app, key)).statusCode, 303);
  const keys = await storedKeys(app);

  for (const { path } of readEndpoints())
    for (const headers of [{}, CSV]) {
      const { body } = await app.send(`GET ${path}`, { as: STAFF, headers });
      // The problem of a wrong path names the path.
      const text = body
        .replaceAll(path, '')
        .replaceAll(encodeURI(path), '')
        .replace(/"instance":"[^"]*"/, '');
      for (const secret of keys) assert.not.ok(text.includes(secret), `${path} has ${secret}`);
    }
  const audit = await app.as(ROOT).audit.list({ limit: 200 });
  for (const secret of keys) assert.not.ok(JSON.stringify(audit).includes(secret));
});

views.run();
