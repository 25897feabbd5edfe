import * as assert from 'uvu/assert';
import { appSuite } from '../support/app-suite.ts';
import { rejectsWith } from '../support/rejects-with.ts';
import { ACME, ADA, EDSGER, GLOBEX, GRACE, IDLE, ROOT, STAFF } from '../support/test-app.ts';

const read = appSuite('users.list, users.get');
const create = appSuite('users.create');
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

create('creates a user with defaults', async ({ app }) => {
  const user = await app.as(ACME).users.create({ email: 'New@Acme.test' });
  const other = await app.as(GLOBEX).users.create({ email: 'new@globex.test' });

  assert.is(user.email, 'new@acme.test');
  assert.is(user.handle, '@new');
  assert.is(other.handle, '@new2');
  assert.match(user.profile_color, /^[0-9a-f]{6}$/);
  assert.is(user.profile_avatar, 'http://localhost:8000/avatars/n.svg');
  assert.equal([user.is_active, user.apps, user.extra, user.last_login], [true, [], {}, null]);
  assert.equal(user.date_joined, app.clock.now());
});

create('accepts every address that HTML accepts, and draws an avatar for each', async ({ app }) => {
  for (const email of ['a%b+c@x.com', "o'hara&sons/x@x.com", '_x@localhost', '%@x.com']) {
    const user = await app.as(ACME).users.create({ email });
    assert.is(user.email, email);
    assert.is(
      (await app.send(`GET /jb/users/${encodeURIComponent(email)}/`, { as: ACME })).json().email,
      email,
    );
    const { pathname } = new URL(user.profile_avatar);
    assert.is((await app.send(`GET !${pathname}`)).statusCode, 200, user.profile_avatar);
  }
  const long = app.as(ACME).users.create({ email: `${'a'.repeat(300)}@x.com` });
  assert.equal((await rejectsWith(long, 'invalid-input')).fields?.email, [
    'Must have at most 254 characters.',
  ]);
});

create('enqueues the mail to set a password, unless send_email is false', async ({ app }) => {
  await app.as(ACME).users.create({ email: 'mailed@acme.test' });
  await app.as(ACME).users.create({ email: 'unmailed@acme.test', send_email: false });
  const mails = await app.db().selectFrom('outbox_mails').select(['kind', 'recipient']).execute();

  assert.ok(mails.some((mail) => mail.recipient === 'mailed@acme.test' && mail.kind === 'password-setup'));
  assert.not.ok(mails.some((mail) => mail.recipient === 'unmailed@acme.test'));
});

create('adds the user to the clients of the apps and to the caller’s only client', async ({ app }) => {
  const inClient = async (id: number, email: string) =>
    (await app.as(ROOT).clients.users({ id })).some((user) => user.email === email);
  await app.as(ACME).users.create({ email: 'own@acme.test' });
  await app.as(ROOT).users.create({ email: 'byapp@acme.test', apps: ['zylTKNVx', 'Hb7cW2ke'] });
  await app.as(ROOT).users.create({ email: 'named@acme.test', client: 2 });

  assert.ok(await inClient(1, 'own@acme.test'));
  assert.ok((await inClient(1, 'byapp@acme.test')) && (await inClient(2, 'byapp@acme.test')));
  assert.ok(await inClient(2, 'named@acme.test'));
});

create('refuses a missing, unknown or foreign client', async ({ app }) => {
  const none = await rejectsWith(app.as(ROOT).users.create({ email: 'x@acme.test' }), 'invalid-input');
  const foreign = app.as(ACME).users.create({ email: 'x@acme.test', client: 2 });
  const unknown = app.as(ROOT).users.create({ email: 'x@acme.test', client: 99 });

  assert.ok(none.fields?.client);
  assert.ok((await rejectsWith(foreign, 'invalid-input')).fields?.client);
  assert.ok((await rejectsWith(unknown, 'invalid-input')).fields?.client);
  await rejectsWith(app.as(ROOT).users.get({ email: 'x@acme.test' }), 'not-found');
});

create('refuses apps of other clients like unknown apps', async ({ app }) => {
  for (const id of ['Hb7cW2ke', 'AAAAAAAA']) {
    const attempt = app.as(ACME).users.create({ email: 'x@acme.test', apps: ['zylTKNVx', id] });
    assert.equal((await rejectsWith(attempt, 'invalid-input')).fields, {
      apps: [`There is no app ${id} to grant.`],
    });
  }
});

create('refuses a taken address, ignoring case', async ({ app }) => {
  const taken = await rejectsWith(app.as(ACME).users.create({ email: 'ADA@acme.TEST' }), 'user-exists');
  const worse = app.as(ACME).users.create({ email: 'ada@acme.test', apps: ['AAAAAAAA'] });
  const both = await rejectsWith(worse, 'user-exists');
  const overRest = await app.send('POST /jb/users/', { as: ACME, payload: { email: 'ada@acme.test' } });

  assert.equal(Object.keys(taken.fields ?? {}), ['email']);
  assert.equal(Object.keys(both.fields ?? {}), ['apps', 'email']);
  assert.is(overRest.statusCode, 400);
  assert.is(overRest.json().type, 'urn:steward:problem:user-exists');
  assert.equal(overRest.json().errors, { email: ['A user with this email address already exists.'] });
});

create('reports only the client if the caller does not administer it', async ({ app }) => {
  const faultsOf = async (email: string, client: number) => {
    const attempt = app.as(ACME).users.create({ email, client, apps: ['Hb7cW2ke'] });
    return (await rejectsWith(attempt, 'invalid-input')).fields;
  };

  for (const client of [2, 999]) {
    const fields = { client: [`There is no client ${client} to which you may add users.`] };
    assert.equal(await faultsOf(EDSGER, client), fields);
    assert.equal(await faultsOf('unknown@globex.test', client), fields);
  }
});

create('reports a taken address with other errors only if the caller may see its user', async ({ app }) => {
  const faultsOf = async (email: string) => {
    const attempt = app.as(ACME).users.create({ email, apps: ['AAAAAAAA'] });
    return (await rejectsWith(attempt, 'invalid-input')).fields;
  };

  assert.equal(await faultsOf(EDSGER), await faultsOf('unknown@globex.test'));
  const taken = await rejectsWith(app.as(ACME).users.create({ email: EDSGER }), 'user-exists');
  assert.equal(Object.keys(taken.fields ?? {}), ['email']);
});

create('lets one of twenty concurrent creations of an address succeed', async ({ app }) => {
  const attempts = Array.from({ length: 20 }, () =>
    app.send('POST /jb/users/', { as: ACME, payload: { email: 'race@acme.test' } }),
  );
  const answers = await Promise.all(attempts);

  assert.equal(answers.map(({ statusCode }) => statusCode).sort(), [200, ...Array(19).fill(400)]);
  const problems = new Set(answers.map((answer) => answer.json().type).filter(Boolean));
  assert.equal([...problems], ['urn:steward:problem:user-exists']);
});

create('assigns distinct handles to concurrent users with the same local part', async ({ app }) => {
  const created = await Promise.all(
    Array.from({ length: 10 }, (_, n) => app.as(ACME).users.create({ email: `same@host${n}.test` })),
  );

  assert.is(new Set(created.map((user) => user.handle)).size, 10);
});

create('assigns distinct handles if numbered bases collide', async ({ app }) => {
  for (let round = 0; round < 4; round += 1) {
    const base = `qz${round}x`;
    await app.as(ACME).users.create({ email: `${base}@h1.test` });
    const made = await Promise.all([
      app.as(ACME).users.create({ email: `${base}@h2.test` }),
      app.as(ACME).users.create({ email: `${base}2@h3.test` }),
    ]);
    assert.is(new Set(made.map((user) => user.handle)).size, 2);
  }
});

create('reports all errors of address and apps at once', async ({ app }) => {
  const attempt = app.as(ACME).users.create({ email: ADA, apps: ['AAAAAAAA'], client: 1 });

  assert.equal(Object.keys((await rejectsWith(attempt, 'user-exists')).fields ?? {}).sort(), [
    'apps',
    'email',
  ]);
});

create('is refused to members and staff', async ({ app }) => {
  await rejectsWith(app.as(ADA).users.create({ email: 'x@acme.test' }), 'forbidden');
  await rejectsWith(app.as(STAFF).users.create({ email: 'x@acme.test', client: 1 }), 'forbidden');
  await rejectsWith(app.as(null).users.create({ email: 'x@acme.test' }), 'unauthenticated');
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

for (const part of [read, create, update]) part.run();
