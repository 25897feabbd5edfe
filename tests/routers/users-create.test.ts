import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GLOBEX,
  ROOT,
  type TestApp,
} from '../support/test-app.ts';

const create = appSuite('users.create');

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

create('enqueues the mail to set a password if send_email is true', async ({ app }) => {
  await app.as(ACME).users.create({ email: 'mailed@acme.test', send_email: true });
  await app.as(ACME).users.create({ email: 'unmailed@acme.test' });
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

create('adds the new user of a superuser without apps and client to no client', async ({ app }) => {
  const { email } = await app.as(ROOT).users.create({ email: 'alone@acme.test' });

  assert.equal(await app.as(ROOT).memberships.list({ email }), []);
});

const AVATAR = 'https://images.acme.test/ada.png';

create('profile.update changes names, color and avatar of the caller, and nothing else', async ({ app }) => {
  const before = await app.as(ADA).users.get({ email: ADA });
  const changes = { first_name: 'Augusta', last_name: 'King', profile_avatar: AVATAR };
  const after = await app.as(ADA).profile.update({ ...changes, profile_color: '2A9D8F' });

  assert.equal(after, { ...before, ...changes, profile_color: '2a9d8f' });
  assert.equal(await app.as(ADA).users.get({ email: ADA }), after);
});

create('profile.update gives back the generated avatar', async ({ app }) => {
  await app.as(ADA).profile.update({ profile_avatar: AVATAR });
  const { profile_avatar } = await app.as(ADA).profile.update({ profile_avatar: null });

  assert.match(profile_avatar, /\/avatars\/a\.svg$/);
});

create('profile.update is audited for the clients of the person, without values', async ({ app }) => {
  await app.as(ADA).profile.update({ last_name: 'Byron', profile_color: 'd6604d' });
  const [entry] = await app.as(ACME).audit.list({ target: ADA, action: 'user.update' });

  assert.is(entry?.actor, ADA);
  assert.equal(entry?.details, {
    last_name: { from: null, to: null },
    profile_color: { from: null, to: null },
  });
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

create('profile.update needs a login', async ({ app }) => {
  await rejectsWith(app.as(null).profile.update({}), 'unauthenticated');
});

const UNICODE = 'ada@bücher.example';

const ASCII = 'ada@xn--bcher-kva.example';

create(
  'internationalized domains identify the same user in both forms when creating, finding and logging in',
  async ({ app }) => {
    const user = await app.as(ACME).users.create({ email: 'Ada@Bücher.example' });
    const { password_hash: hash } = await app
      .db()
      .selectFrom('users')
      .select('password_hash')
      .where('email', '=', ACME)
      .executeTakeFirstOrThrow();
    await app.db().updateTable('users').set({ password_hash: hash }).where('email', '=', ASCII).execute();

    assert.is(user.email, ASCII);
    for (const email of [UNICODE, ASCII, 'ADA@BÜCHER.example']) {
      assert.is((await app.as(ACME).users.get({ email })).email, ASCII);
      assert.match(
        (await app.as(null).tokens.create({ username: email, password: DEMO_PASSWORD })).token,
        /^\w{40}$/,
      );
      await rejectsWith(app.as(ACME).users.create({ email }), 'user-exists');
    }
    const { statusCode, body } = await app.send(`GET /jb/users/${encodeURIComponent(UNICODE)}/`, {
      as: ACME,
    });
    assert.equal([statusCode, JSON.parse(body).email], [200, ASCII]);
  },
);

create.run();
