import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, setRows, valuesOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, EDSGER, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const create = appSuite('users.create');

create('creates a user with defaults', async ({ app }) => {
  const user = await app.as(ACME).users.create({ email: 'New@Acme.test' });
  const other = await app.as(ACME).users.create({ email: 'new@globex.test' });

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
    const shown = await app.send(`GET /jb/users/${encodeURIComponent(email)}/`, { as: ACME });
    assert.equal([user.email, shown.json().email], [email, email]);
    const { pathname } = new URL(user.profile_avatar);
    assert.is((await app.send(`GET !${pathname}`)).statusCode, 200, user.profile_avatar);
  }
  const long = app.as(ACME).users.create({ email: `${'a'.repeat(300)}@x.com` });
  const { fields } = await rejectsWith(long, 'invalid-input');
  assert.equal(fields?.email, ['Must have at most 254 characters.']);
});

create('enqueues the mail to set a password if send_email is true', async ({ app }) => {
  await app.as(ACME).users.create({ email: 'mailed@acme.test', send_email: true });
  await app.as(ACME).users.create({ email: 'unmailed@acme.test' });

  const kindsTo = (recipient: string) => valuesOf(app, 'outbox_mails', 'kind', { recipient });
  assert.equal(await kindsTo('mailed@acme.test'), ['password-setup']);
  assert.equal(await kindsTo('unmailed@acme.test'), []);
});

create('adds the user to the clients of the apps, or to the caller’s only client', async ({ app }) => {
  const cases: [as: string, input: { apps?: string[]; client?: number }, clients: number[]][] = [
    [ACME, {}, [1]],
    [ROOT, { apps: [SALES, FLEET] }, [1, 2]],
    [ROOT, { client: 2 }, [2]],
    [ROOT, {}, []],
  ];
  for (const [as, input, clients] of cases) {
    const email = `member-of-${clients.join('-')}-by-${as}`;
    await app.as(as).users.create({ email, ...input });
    const joined = (await app.as(ROOT).memberships.list({ email })).map(({ client }) => client);
    assert.equal(joined, clients, email);
  }
});

/** Whether the admin of Acme administers Globex, too. */
const setAdmin = (app: TestApp, is_admin: boolean) =>
  app.as(ROOT).roles.setClientAdmin({ id: 2, email: ACME, is_admin });

create('refuses an unknown or foreign client, and a missing one by an admin of several', async ({ app }) => {
  await setAdmin(app, true);
  const none = await rejectsWith(app.as(ACME).users.create({ email: 'x@acme.test' }), 'invalid-input');
  await setAdmin(app, false);
  const foreign = app.as(ACME).users.create({ email: 'x@acme.test', client: 2 });
  const unknown = app.as(ROOT).users.create({ email: 'x@acme.test', client: 99 });

  assert.equal(none.fields?.client, [
    'You administer several clients. Send `client`, the id of the one to join (GET /api/v1/jb/clients/ lists them), or `apps`, ids of its apps.',
  ]);
  assert.ok((await rejectsWith(foreign, 'invalid-input')).fields?.client);
  assert.ok((await rejectsWith(unknown, 'invalid-input')).fields?.client);
  await rejectsWith(app.as(ROOT).users.get({ email: 'x@acme.test' }), 'not-found');
});

create('refuses apps of other clients like unknown apps', async ({ app }) => {
  for (const id of [FLEET, 'AAAAAAAA']) {
    const attempt = app.as(ACME).users.create({ email: 'x@acme.test', apps: [SALES, id] });
    assert.equal((await rejectsWith(attempt, 'invalid-input')).fields, {
      apps: [`There is no app ${id} to grant.`],
    });
  }
});

create('refuses a taken address, ignoring case', async ({ app }) => {
  const taken = await rejectsWith(app.as(ACME).users.create({ email: 'ADA@acme.TEST' }), 'user-exists');
  const worse = app.as(ACME).users.create({ email: ADA, apps: ['AAAAAAAA'] });
  const both = await rejectsWith(worse, 'user-exists');

  assert.equal(taken.fields, { email: ['A user with this email address already exists.'] });
  assert.equal(Object.keys(both.fields ?? {}), ['apps', 'email']);
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

const AVATAR = 'https://images.acme.test/ada.png';

create('profile.update changes names, color and avatar, audited without values', async ({ app }) => {
  const before = await app.as(ADA).users.get({ email: ADA });
  const changes = { first_name: 'Augusta', last_name: 'King', profile_avatar: AVATAR };
  const after = await app.as(ADA).profile.update({ ...changes, profile_color: '2A9D8F' });
  const [entry] = await app.as(ACME).audit.list({ target: ADA, action: 'user.update' });
  const { profile_avatar } = await app.as(ADA).profile.update({ profile_avatar: null });

  assert.equal(after, { ...before, ...changes, profile_color: '2a9d8f' });
  assert.is(entry?.actor, ADA);
  const names = [...Object.keys(changes), 'profile_color'];
  assert.equal(entry?.details, Object.fromEntries(names.map((name) => [name, { from: null, to: null }])));
  assert.match(profile_avatar, /\/avatars\/a\.svg$/);
});

create('profile.update refuses other colors and addresses', async ({ app }) => {
  for (const [field, value] of [
    ['profile_color', '#2a9d8f'],
    ['profile_color', '2a9d8'],
    ['profile_avatar', 'http://images.acme.test/ada.png'],
    ['profile_avatar', 'javascript:alert(1)'],
    ['profile_avatar', `https://images.acme.test/${'a'.repeat(2048)}`],
  ] as const) {
    const refused = await rejectsWith(app.as(ADA).profile.update({ [field]: value }), 'invalid-input');
    assert.equal(Object.keys(refused.fields ?? {}), [field], value);
  }
});

const UNICODE = 'ada@bücher.example';

const ASCII = 'ada@xn--bcher-kva.example';

create('internationalized domains identify the same user in both forms', async ({ app }) => {
  const user = await app.as(ACME).users.create({ email: 'Ada@Bücher.example' });
  const { password_hash } = await rowOf(app, 'users', { email: ACME });
  await setRows(app, 'users', { email: ASCII }, { password_hash });

  assert.is(user.email, ASCII);
  for (const email of [UNICODE, ASCII, 'ADA@BÜCHER.example']) {
    assert.is((await app.as(ACME).users.get({ email })).email, ASCII);
    assert.ok((await app.as(null).tokens.create({ username: email, password: DEMO_PASSWORD })).token);
    await rejectsWith(app.as(ACME).users.create({ email }), 'user-exists');
  }
});

create.run();
