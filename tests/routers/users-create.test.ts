import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF } from '../support/test-app.ts';
import { until } from '../support/time.ts';

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

  assert.equal(none.fields?.client, [
    'There are several clients. Send `client`, the id of the one to join (GET /api/v1/jb/clients/ lists them), or `apps`, ids of its apps.',
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

create('audits each account of another client that it reveals, for superusers', async ({ app }) => {
  const revealed = app.as(ACME).users.create({ email: EDSGER });
  assert.is((await rejectsWith(revealed, 'user-exists')).status, 400);
  await rejectsWith(app.as(ACME).users.create({ email: ADA }), 'user-exists');

  const [entry, other] = await app
    .as(ROOT)
    .audit.list({ action: 'request.refused', target: EDSGER, limit: 2 });
  const { actor, details, clients } = entry ?? {};
  assert.equal([actor, details, clients], [ACME, { request: 'users.create', problem: 'user-exists' }, []]);
  assert.ok(other, 'an earlier test has revealed it too');
  assert.equal(await app.as(ROOT).audit.list({ action: 'request.refused', target: ADA }), []);
  assert.equal(await app.as(ACME).audit.list({ action: 'request.refused', target: EDSGER }), []);
});

create('reveals at most 20 accounts of other clients in an hour, also in one burst', async ({ app }) => {
  const emails = Array.from({ length: 30 }, (_, n) => `hidden${n}@globex.test`);
  for (const email of emails) await app.as(ROOT).users.create({ email, client: 2, send_email: false });
  await app.db().deleteFrom('rate_limits').execute();
  const send = (email: string) =>
    app.send('POST /jb/users/', { as: ACME, payload: { email, send_email: false } });

  const answers = await Promise.all(emails.map(send));

  assert.is(answers.filter(({ statusCode }) => statusCode === 400).length, 20);
  const throttled = answers.filter(({ statusCode }) => statusCode === 429);
  assert.is(throttled.length, 10);
  // Whether the address is taken no longer shows.
  const [taken, free] = [await send('hidden1@globex.test'), await send('nobody@acme.test')];
  for (const { statusCode, headers, json } of [taken, free]) {
    assert.is(statusCode, 429);
    assert.match(String(headers['retry-after']), /^3[56]\d\d$/);
    assert.match(json().detail, /already have an account in another client/);
  }
  const keyed = { as: ACME, headers: { 'idempotency-key': 'twenty' }, payload: { email: 'other@acme.test' } };
  assert.is((await app.send('POST /jb/users/', keyed)).statusCode, 429);
  assert.is(
    (await app.send('POST /jb/users/', { as: GLOBEX, payload: { email: 'free@globex.test' } })).statusCode,
    200,
  );
});

create('creates no user after others of the same burst have reached the limit', async ({ app }) => {
  await app.db().deleteFrom('rate_limits').execute();
  const holder = new Client(app.connection);
  await holder.connect();
  try {
    // Holds the creation after its first check.
    await holder.query('begin; lock table app_grants in access exclusive mode');
    const creation = app.send('POST /jb/users/', {
      as: ACME,
      payload: { email: 'late@acme.test', apps: ['zylTKNVx'] },
    });
    await until('the creation waits', async () => {
      await holder.query('select pg_stat_clear_snapshot()');
      const { rowCount } = await holder.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rowCount === 1;
    });
    for (let n = 0; n < 20; n += 1)
      await rejectsWith(app.as(ACME).users.create({ email: `hidden${n}@globex.test` }), 'user-exists');
    await holder.query('commit');

    assert.is((await creation).statusCode, 429);
    await rejectsWith(app.as(ROOT).users.get({ email: 'late@acme.test' }), 'not-found');
  } finally {
    await holder.end();
  }
  await app.db().deleteFrom('rate_limits').execute();
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

create('lets a superuser leave out the client if the installation has only one', async ({ app }) => {
  await app.db().updateTable('apps').set({ client_id: 1 }).execute();
  await app.db().deleteFrom('clients').where('id', '=', 2).execute();

  const response = await app.send('POST /jb/users/', { as: ROOT, payload: { email: 'sole@acme.test' } });

  const members = await app.as(ACME).clients.users({ id: 1 });
  const entries = await app.as(ACME).audit.list({ action: 'user.create', target: 'sole@acme.test' });
  assert.is(response.statusCode, 200, response.body);
  assert.ok(members.some(({ email }) => email === 'sole@acme.test'));
  assert.is(entries.length, 1);
});

create('is refused to members and staff', async ({ app }) => {
  await rejectsWith(app.as(ADA).users.create({ email: 'x@acme.test' }), 'forbidden');
  await rejectsWith(app.as(STAFF).users.create({ email: 'x@acme.test', client: 1 }), 'forbidden');
  await rejectsWith(app.as(null).users.create({ email: 'x@acme.test' }), 'unauthenticated');
});

create.run();

const handles = appSuite('handles of new users');

handles('tell the admins of a client which names others have 20 times in an hour', async ({ app }) => {
  const names = Array.from('abcdefghijklmnopqrstu', (letter) => `dict-${letter}`);
  for (const name of names) await app.as(ROOT).users.create({ email: `${name}@acme.test`, client: 1 });
  const handleFor = async (name: string, as = GLOBEX) =>
    (await app.as(as).users.create({ email: `${name}@globex.test`, client: 2 })).handle;

  const seen: string[] = [];
  for (const name of names) seen.push(await handleFor(name));
  const unknown = await handleFor('dict-free');

  assert.equal(
    seen.slice(0, 20),
    names.slice(0, 20).map((name) => `@${name}2`),
  );
  assert.match(seen.at(-1) ?? '', /^@dict-u\d{5,6}$/);
  assert.match(unknown, /^@dict-free\d{5,6}$/);
  assert.is(await handleFor('dict-other', ROOT), '@dict-other', 'superusers see all people anyway');
});

handles.run();
