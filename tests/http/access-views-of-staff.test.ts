import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const views = appSuite('access views, read by staff');
const PATH = '/access_views/';
const create = (app: TestApp, input = {}) => app.as(ACME).accessViews.create({ app: 'sales', ...input });

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
    const overRest = await app.send(`GET ${PATH}${made.id}/`, { as: STAFF });
    assert.equal(overRest.json(), JSON.parse(JSON.stringify(shown)));
  }
  assert.is((await staff.list({})).length, (await app.as(ROOT).accessViews.list({})).length);
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
      [foreign, /client admin, app manager or superuser, in client 2/],
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

views.run();
