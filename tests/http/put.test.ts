import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const put = appSuite('PUT of users and apps');

const USER = `/jb/users/${GRACE}/`;
const APP = `/jb/apps/${SALES}/`;

const auditCount = async (app: TestApp): Promise<number> =>
  (await app.db().selectFrom('audit_entries').select('id').execute()).length;

put.before(async ({ app }) => {
  const extra = { nested: { list: [1, null, 'x'] }, email: 'not this one' };
  // A user of another client too, whose apps the caller does not see.
  await app.as(ROOT).users.update({ email: GRACE, extra, apps: [SALES, FLEET] });
  await app.as(ACME).apps.update({ app_id: SALES, help_html: '<p>Help</p>', in_maintenance: true });
});

for (const path of [USER, APP]) {
  for (const scheme of ['Token', 'Bearer', 'JWT']) {
    put(`accepts what GET ${path} returned, and changes nothing, with ${scheme}`, async ({ app }) => {
      const headers = { authorization: `${scheme} ${await app.tokenOf(ACME)}` };
      const before = await app.send(`GET ${path}`, { headers });
      const everything = await app.send(`GET ${path}`, { as: ROOT });
      const entries = await auditCount(app);

      const response = await app.send(`PUT ${path}`, { headers, payload: before.json() });

      assert.is(response.statusCode, 200, response.body);
      assert.is(response.body, before.body);
      const after = await app.send(`GET ${path}`, { headers });
      assert.is(after.headers.etag, before.headers.etag);
      assert.is((await app.send(`GET ${path}`, { as: ROOT })).body, everything.body);
      assert.is(await auditCount(app), entries);
    });
  }
}

put('changes the fields that differ, and ignores read-only and unknown ones', async ({ app }) => {
  const path = `/jb/users/${ADA}/`;
  const user = (await app.send(`GET ${path}`, { as: ACME })).json();
  const payload = {
    ...user,
    first_name: 'Amazing',
    handle: '@other',
    email: GRACE,
    clientadmin_of: [1],
    x: 1,
  };
  const response = await app.send(`PUT ${path}`, { as: ACME, payload });

  assert.equal(response.json(), { ...user, first_name: 'Amazing' });
  const sent = { label: 'Sold', id: FLEET, slug: 'fleet', usage: {}, package_info: { version: '9' } };
  const changed = (await app.send(`PUT ${APP.slice(0, -1)}`, { as: ACME, payload: sent })).json();
  assert.equal([changed.id, changed.slug, changed.label], [SALES, 'sales', 'Sold']);
  assert.equal(changed.package_info, (await app.send(`GET ${APP}`, { as: ACME })).json().package_info);
});

put('keeps the fields that are left out, like PATCH', async ({ app }) => {
  const before = (await app.send(`GET ${APP}`, { as: ACME })).json();
  const response = await app.send(`PUT ${APP}`, { as: ACME, payload: { description: 'Short' } });

  assert.equal(response.json(), { ...before, description: 'Short' });
});

put('reports every invalid field, and has no ETag', async ({ app }) => {
  const payload = { first_name: 1, is_active: 'false' };
  const invalid = await app.send(`PUT ${USER}`, { as: ACME, payload });
  const valid = await app.send(`PUT ${USER}`, { as: ACME, payload: { first_name: 'Grace' } });

  assert.is(invalid.statusCode, 400);
  assert.equal(Object.keys(invalid.json().errors), ['first_name', 'is_active']);
  assert.equal([valid.statusCode, valid.headers.etag], [200, undefined]);
});

put('honours If-Match', async ({ app }) => {
  const { headers } = await app.send(`GET ${APP}`, { as: ACME });
  const send = (tag: string) =>
    app.send(`PUT ${APP}`, { as: ACME, payload: { label: tag }, headers: { 'if-match': tag } });

  assert.is((await send('"else"')).statusCode, 412);
  assert.is((await send(String(headers.etag))).statusCode, 200);
  assert.is((await send(String(headers.etag))).statusCode, 412);
});

put('refuses client admins, and callers who may not change the object', async ({ app }) => {
  const admin = await app.send(`PUT /jb/users/${ACME}/`, { as: ROOT, payload: {} });
  const member = await app.send(`PUT ${APP}`, { as: ADA, payload: { label: 'Mine' } });
  const foreign = await app.send(`PUT /jb/apps/${FLEET}/`, { as: ACME, payload: { label: 'Mine' } });

  assert.equal(
    [admin.json().type, member.statusCode, foreign.statusCode],
    ['urn:steward:problem:client-admin-locked', 403, 404],
  );
});

put.run();
