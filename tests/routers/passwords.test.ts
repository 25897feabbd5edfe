import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  IDLE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const passwords = appSuite('passwords');

const NEW = 'violet-harbor-92-kite';
const login = (app: TestApp, username: string, password: string) =>
  app.as(null).tokens.create({ username, password });
const sites = (app: TestApp, token: string) =>
  app.send('GET /jb/sites/', { headers: { authorization: `Token ${token}` } });

passwords('can be changed with the current one, which revokes all other credentials', async ({ app }) => {
  const other = await login(app, GRACE, DEMO_PASSWORD);
  const own = await app.tokenOf(GRACE);
  app.clock.advance(1000);

  await app.as(GRACE).passwords.change({ password: DEMO_PASSWORD, new_password: NEW });

  assert.is((await sites(app, own)).statusCode, 200);
  assert.is((await sites(app, other.token)).statusCode, 401);
  await rejectsWith(login(app, GRACE, DEMO_PASSWORD), 'invalid-credentials');
  assert.ok((await login(app, GRACE, NEW)).token);
  const users = await app.as(ACME).clients.users({ id: 1 });
  const grace = users.find((user) => user.email === GRACE);
  assert.is(grace?.last_password_set.getTime(), app.clock.now().getTime());
});

passwords(
  'cannot be changed with a wrong current one, to the same one, or to a weak one',
  async ({ app }) => {
    const change = (password: string, new_password: string) =>
      app.as(ADA).passwords.change({ password, new_password });

    const wrong = await rejectsWith(change('wrong', NEW), 'invalid-input');
    const same = await rejectsWith(change(DEMO_PASSWORD, DEMO_PASSWORD), 'invalid-input');
    const weak = await rejectsWith(change(DEMO_PASSWORD, 'ada'), 'invalid-input');

    assert.equal(Object.keys(wrong.fields ?? {}), ['password']);
    assert.equal(Object.keys(same.fields ?? {}), ['new_password']);
    assert.is(weak.fields?.new_password?.length, 2, 'too short and personal');
    assert.ok((await login(app, ADA, DEMO_PASSWORD)).token);
  },
);

passwords('must meet the strictest policy of the user’s clients', async ({ app }) => {
  await app.as(ROOT).clients.update({ id: 2, password_min_length: 20, password_require_special: true });
  await app
    .as(ROOT)
    .users.create({ email: 'both@acme.test', apps: ['zylTKNVx', 'Hb7cW2ke'], send_email: false });
  const hash = await app.hasher.hash(DEMO_PASSWORD);
  await app
    .db()
    .updateTable('users')
    .set({ password_hash: hash })
    .where('email', '=', 'both@acme.test')
    .execute();
  const change = (new_password: string) =>
    app.as('both@acme.test').passwords.change({ password: DEMO_PASSWORD, new_password });

  const { fields } = await rejectsWith(change('violetharbor92kite'), 'invalid-input');
  await change('violet-harbor-92-kite-');
  await app.as(ROOT).clients.update({ id: 2, password_min_length: 8, password_require_special: false });

  assert.is(fields?.new_password?.length, 2);
});

passwords('expire after the shortest period that a client of the user sets', async ({ app }) => {
  const setDays = (id: number, days: number) =>
    app.as(ROOT).clients.update({ id, password_expiration_days: days });
  await setDays(1, 90);
  await setDays(2, 30);
  app.clock.advance(31 * DAY_MS);

  await rejectsWith(login(app, 'both@acme.test', 'violet-harbor-92-kite-'), 'password_expired');
  await setDays(2, 0);
  const { token } = await login(app, 'both@acme.test', 'violet-harbor-92-kite-');
  await setDays(1, 0);

  assert.ok(token);
});

passwords('expire after the days of the policy, until they are changed', async ({ app }) => {
  await app.as(ROOT).clients.update({ id: 2, password_expiration_days: 30 });
  app.clock.advance(31 * DAY_MS);

  const expired = await rejectsWith(login(app, EDSGER, DEMO_PASSWORD), 'password_expired');
  const [entry] = await app.as(ROOT).audit.list({ target: EDSGER });
  await rejectsWith(login(app, EDSGER, 'wrong'), 'invalid-credentials');
  const renewal = { username: EDSGER, password: DEMO_PASSWORD };
  const weak = await rejectsWith(
    app.as(null).passwords.renew({ ...renewal, new_password: 'dijkstra' }),
    'invalid-input',
  );
  await app.as(null).passwords.renew({ ...renewal, new_password: NEW });

  assert.equal([entry?.action, entry?.actor], ['login.expired', EDSGER]);
  assert.is(expired.status, 403);
  assert.ok(weak.fields?.new_password);
  assert.ok((await login(app, EDSGER, NEW)).token);
  await app.as(ROOT).clients.update({ id: 2, password_expiration_days: 0 });
});

passwords('cannot be changed after expiry without the current one', async ({ app }) => {
  for (const [username, password] of [
    [ADA, 'wrong'],
    [IDLE, DEMO_PASSWORD],
    ['unknown@acme.test', DEMO_PASSWORD],
  ] as const) {
    await rejectsWith(
      app.as(null).passwords.renew({ username, password, new_password: NEW }),
      'invalid-credentials',
    );
  }
});

passwords('are checked while being typed, by the policy of the user or of the host', async ({ app }) => {
  await app.as(ROOT).clients.update({ id: 1, password_require_numeric: true });

  const own = await app.as(ADA).passwords.check({ password: 'Lovelace-and-more' });
  const anonymous = await app
    .as(null)
    .passwords.check({ password: 'violet-harbor-92', first_name: 'Violet' });
  const empty = await app.as(null).passwords.check({ password: '' });
  const failed = (result: typeof own) => result.rules.filter((rule) => !rule.passed).map((rule) => rule.rule);

  assert.equal(failed(own), ['numeric', 'personal']);
  assert.equal(failed(anonymous), ['personal']);
  assert.equal(failed(empty), ['min_length', 'numeric']);
  assert.not.ok(empty.passed);
  await app.as(ROOT).clients.update({ id: 1, password_require_numeric: false });
});

passwords('an expiry preview lists the affected users', async ({ app }) => {
  const preview = (as: string, days: number, id = 1) => app.as(as).passwords.previewExpiry({ id, days });

  assert.equal(await preview(ACME, 0), { total: 0, users: [] });
  const strict = await preview(ACME, 10);
  assert.ok(strict.users.some((user) => user.email === ADA));
  assert.not.ok(
    strict.users.some((user) => user.email === IDLE),
    'inactive people cannot log in anyway',
  );
  assert.is(strict.total, strict.users.length);
  assert.ok((await preview(STAFF, 10)).total > 0);
  await rejectsWith(preview(ACME, 10, 2), 'not-found');
  await rejectsWith(preview(ADA, 10), 'forbidden');
});

passwords(
  'an expiry preview tells admins of one client nothing about accounts of others',
  async ({ app }) => {
    const names = ['shared-with@preview.test', 'shared-without@preview.test', 'alone@preview.test'];
    const hash = await app.hasher.hash(DEMO_PASSWORD);
    for (const email of names) await app.as(ROOT).users.create({ email, client: 2 });
    const users = app.db().updateTable('users');
    await users
      .set({ password_hash: hash })
      .where('email', 'in', ['shared-with@preview.test', 'alone@preview.test'])
      .execute();
    app.clock.advance(DAY_MS);
    for (const email of names) await app.as(ROOT).users.update({ email, apps: [FLEET, SALES] });
    await app.as(ROOT).memberships.remove({ id: 2, email: 'alone@preview.test' });
    app.clock.advance(20 * DAY_MS);

    const previewed = async (as: string) =>
      (await app.as(as).passwords.previewExpiry({ id: 1, days: 10, limit: 1000 })).users
        .filter(({ email }) => names.includes(email))
        .map(({ email, last_password_set }) => [email, last_password_set !== null]);

    assert.equal((await previewed(ACME)).toSorted(), names.map((email) => [email, false]).toSorted());
    assert.equal(
      (await previewed(ROOT)).toSorted(),
      ['alone@preview.test', 'shared-with@preview.test'].map((email) => [email, true]),
    );
  },
);

passwords('a change revokes a concurrent login with the old one', async ({ app }) => {
  const email = 'race@acme.test';
  await app.as(ACME).users.create({ email });
  const hash = await app.hasher.hash(DEMO_PASSWORD);
  await app.db().updateTable('users').set({ password_hash: hash }).where('email', '=', email).execute();
  await app.tokenOf(email);
  app.clock.advance(1000);

  const logins = Array.from({ length: 6 }, () => login(app, email, DEMO_PASSWORD).catch(() => null));
  const change = app.as(email).passwords.change({ password: DEMO_PASSWORD, new_password: NEW });
  await Promise.all([...logins, change]);
  const alive = await app
    .db()
    .selectFrom('api_tokens')
    .innerJoin('users', 'users.id', 'api_tokens.user_id')
    .select('api_tokens.id')
    .where('users.email', '=', email)
    .execute();

  assert.is(alive.length, 1, 'the one that asked for the change');
});

passwords.run();
