import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, IDLE, ROOT, STAFF } from '../support/test-app.ts';

const read = appSuite('users.list, users.get');
const update = appSuite('users.update');

read('returns to a client admin the members of their clients', async ({ app }) => {
  const emails = async (who: string) => (await app.as(who).users.list({})).map((user) => user.email);

  assert.equal(await emails(ACME), [ACME, ADA, GRACE, IDLE]);
  assert.equal(await emails(GLOBEX), [GLOBEX, EDSGER]);
  assert.is((await emails(STAFF)).length, 8);
  assert.equal(await emails(ROOT), await emails(STAFF));
});

read('returns to a member only themselves', async ({ app }) => {
  assert.is((await app.as(ADA).users.get({ email: ADA })).email, ADA);
  await rejectsWith(app.as(ADA).users.get({ email: GRACE }), 'not-found');
  await rejectsWith(app.as(ADA).users.list({}), 'forbidden');
});

read('fails with not-found for a user of another client', async ({ app }) => {
  const foreign = await rejectsWith(app.as(ACME).users.get({ email: EDSGER }), 'not-found');
  const missing = await rejectsWith(app.as(ACME).users.get({ email: 'none@acme.test' }), 'not-found');

  assert.is(foreign.message, missing.message);
});

read('lists the users of an app by its slug', async ({ app }) => {
  const emails = async (slug: string) => (await app.as(ACME).users.list({ app: slug })).map((u) => u.email);

  assert.equal(await emails('sales'), [ADA, GRACE]);
  assert.equal(await emails('churn'), [ADA]);
  await rejectsWith(emails('fleet'), 'not-found');
  await rejectsWith(emails('nothing'), 'not-found');
  await rejectsWith(emails('No Slug'), 'invalid-input');
});

read('returns only apps and admin roles that the caller may see', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: ['zylTKNVx', 'Hb7cW2ke'] });

  assert.equal((await app.as(ACME).users.get({ email: GRACE })).apps, ['zylTKNVx']);
  assert.equal((await app.as(GLOBEX).users.get({ email: GRACE })).apps, ['Hb7cW2ke']);
  assert.equal((await app.as(GRACE).users.get({ email: GRACE })).apps, ['zylTKNVx', 'Hb7cW2ke']);
  assert.equal((await app.as(ROOT).users.get({ email: ACME })).clientadmin_of, [1]);
});

update('changes only the given fields', async ({ app }) => {
  const before = await app.as(ACME).users.get({ email: ADA });
  const after = await app.as(ACME).users.update({ email: ADA, first_name: 'Augusta', extra: { a: [1] } });

  assert.equal(after, { ...before, first_name: 'Augusta', extra: { a: [1] } });
  assert.equal((await app.as(ACME).users.update({ email: ADA, extra: {} })).extra, {});
});

update('accepts a complete user sent back, and applies only the documented fields', async ({ app }) => {
  const shown = (await app.send(`GET /jb/users/${ADA}/`, { as: ACME })).json();
  const echoed = await app.send(`PATCH /jb/users/${ADA}/`, {
    as: ACME,
    payload: { ...shown, handle: '@root', last_login: null, is_superuser: true, is_staff: true },
  });

  assert.equal(echoed.json(), shown);
  await rejectsWith(app.as(ADA).users.list({}), 'forbidden');
});

update('keeps the apps of other clients', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: ['zylTKNVx', 'Hb7cW2ke'] });

  await app.as(ACME).users.update({ email: GRACE, apps: ['Qm3vR8pa'] });
  assert.equal((await app.as(ROOT).users.get({ email: GRACE })).apps, ['Qm3vR8pa', 'Hb7cW2ke']);
  await app.as(GLOBEX).users.update({ email: GRACE, apps: [] });
  assert.equal((await app.as(ROOT).users.get({ email: GRACE })).apps, ['Qm3vR8pa']);
});

update('refuses apps of other clients alike, whether the user has them or not', async ({ app }) => {
  for (const apps of [[], ['Hb7cW2ke']]) {
    await app.as(ROOT).users.update({ email: GRACE, apps });
    const attempt = app.as(ACME).users.update({ email: GRACE, apps: ['zylTKNVx', 'Hb7cW2ke'] });
    const { fields } = await rejectsWith(attempt, 'invalid-input');
    assert.equal(fields, { apps: ['There is no app Hb7cW2ke to grant.'] });
  }
});

update('keeps both changes if admins of two clients set apps concurrently', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: ['Hb7cW2ke', 'zylTKNVx'] });
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([
      app.as(ACME).users.update({ email: GRACE, apps: round % 2 ? ['zylTKNVx'] : ['Qm3vR8pa'] }),
      app.as(GLOBEX).users.update({ email: GRACE, apps: round % 2 ? ['Hb7cW2ke'] : [] }),
    ]);
    const expected = round % 2 ? ['zylTKNVx', 'Hb7cW2ke'] : ['Qm3vR8pa'];
    assert.equal((await app.as(ROOT).users.get({ email: GRACE })).apps, expected);
  }
});

update('refuses to change client admins', async ({ app }) => {
  for (const who of [ROOT, ACME]) {
    const attempt = app.as(who).users.update({ email: ACME, first_name: 'X' });
    assert.is((await rejectsWith(attempt, 'client-admin-locked')).status, 403);
  }
  await rejectsWith(app.as(ACME).users.update({ email: GLOBEX, first_name: 'X' }), 'not-found');
});

update('refuses members and staff, even for themselves', async ({ app }) => {
  await rejectsWith(app.as(ADA).users.update({ email: ADA, first_name: 'X' }), 'forbidden');
  await rejectsWith(app.as(STAFF).users.update({ email: ADA, first_name: 'X' }), 'forbidden');
});

update('keeps extra as sent, and limits its size', async ({ app }) => {
  const nested = (depth: number) => JSON.parse(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);
  const kept = { ключ: 'значение', 'a.b': { '': [null, 1.5, 'x\0y'] }, z: 1, a: 2 };
  const set = (extra: Record<string, unknown>) => app.as(ACME).users.update({ email: ADA, extra });

  assert.is(JSON.stringify((await set(kept)).extra), JSON.stringify(kept));
  await set({ text: 'x'.repeat(65_000) });
  await set(nested(400));
  for (const extra of [{ text: 'x'.repeat(66_000) }, nested(600), nested(30_000)]) {
    assert.ok((await rejectsWith(set(extra), 'invalid-input')).fields?.extra);
  }
});

for (const part of [read, update]) part.run();
