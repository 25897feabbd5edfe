import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const accounts = appSuite('service accounts');

let made = 0;

type NewAccount = Parameters<ReturnType<TestApp['as']>['serviceAccounts']['create']>[0];

const ADMIN: Partial<NewAccount> = { roles: ['client-admin'] };

const create = (app: TestApp, who = ACME, more: Partial<NewAccount> = {}) =>
  app.as(who).serviceAccounts.create({ name: `Nightly export ${++made}`, client: 1, ...more });

/** A new account of client 1 with a token. */
const withToken = async (app: TestApp, more: Partial<NewAccount> = ADMIN, limits: object = {}) => {
  const account = await create(app, ACME, more);
  const { token } = await app
    .as(ACME)
    .serviceAccounts.createToken({ id: account.id, name: 'Host', ...limits });
  const send = (line: string, payload?: object) =>
    app.send(line, { headers: { authorization: `Token ${token}` }, ...(payload && { payload }) });
  return { ...account, token, send };
};

accounts('act with their roles in their client, and nowhere else', async ({ app }) => {
  const { send, id } = await withToken(app);
  const none = await withToken(app, { roles: [] });
  const listed = (await send('GET /jb/clients/')).json();

  assert.equal(
    listed.map((client: { id: number }) => client.id),
    [1],
  );
  assert.is((await send('PATCH /jb/users/ada@acme.test/', { first_name: 'Augusta' })).statusCode, 200);
  assert.is((await send('GET /jb/users/edsger@globex.test/')).statusCode, 404);
  assert.is((await send('POST /jb/clients/', { name: 'New', domain: 'new.test' })).statusCode, 403);
  assert.is((await none.send('GET /jb/users/')).statusCode, 403);
  const { actor_type, actor_id, actor_label } = await rowOf(app, 'audit_entries', {
    action: 'user.update',
    actor_id: id,
  });
  assert.equal([actor_type, actor_id], ['service', id]);
  assert.match(actor_label, /^nightly-export-\d+-\d+@service-account\.invalid$/);
});

accounts('have no account: no profile, logins, tokens or password of their own', async ({ app }) => {
  const { send, address } = await withToken(app);

  for (const [line, payload] of [
    ['PATCH /jb/profile/', { first_name: 'X' }],
    ['POST /jb/tokens/', { name: 'own' }],
    ['GET /jb/account/logins/', undefined],
  ] as const)
    assert.ok((await send(line, payload)).statusCode >= 400, line);
  for (const change of [
    () => app.as(ROOT).users.update({ email: address, first_name: 'X' }),
    () => app.as(ROOT).roles.update({ email: address, is_staff: true }),
    () => app.as(ROOT).users.deactivate({ email: address }),
  ])
    await rejectsWith(change(), 'forbidden');
  await rejectsWith(
    app.as(ROOT).users.erase({ email: address, confirm_email: address, confirmation: 'erase' }),
    'not-found',
  );
  await rejectsWith(app.as(ROOT).users.create({ email: `x${address}` }), 'invalid-input');
  await rejectsWith(app.as(null).tokens.create({ username: address, password: 'x' }), 'invalid-credentials');
  const emails = (await app.as(ROOT).users.list({})).map(({ email }) => email);
  assert.not.ok(emails.includes(address));
});

accounts('invite people, and are shown as the inviter by their name', async ({ app }) => {
  const { send, name, address } = await withToken(app);
  await send('POST /jb/users/invitations/', { email: 'by-service@x.test' });
  const found = (await app.as(ACME).invitations.search({ search: 'by-service' }))[0];

  assert.is(found?.email, 'by-service@x.test');
  const { user } = await app.as(ROOT).invitations.pending({ email: 'by-service@x.test' });
  assert.equal([user.email, user.first_name, user.apps], [address, name, []]);
});

accounts(
  'are managed by admins of their client, those of the installation by superusers',
  async ({ app }) => {
    const own = await create(app);
    const global = await create(app, ROOT, { client: null, roles: ['staff'] });

    await rejectsWith(create(app, GLOBEX), 'not-found');
    await rejectsWith(create(app, ACME, { client: null }), 'forbidden');
    await rejectsWith(create(app, ADA), 'forbidden');
    await rejectsWith(create(app, STAFF), 'forbidden');
    for (const id of [own.id, global.id])
      for (const refused of [
        () => app.as(GLOBEX).serviceAccounts.get({ id }),
        () => app.as(GLOBEX).serviceAccounts.createToken({ id, name: 'x' }),
        () => app.as(GLOBEX).serviceAccounts.remove({ id }),
      ])
        await rejectsWith(refused(), 'not-found');
    const listed = async (who: string) => (await app.as(who).serviceAccounts.list({})).map(({ id }) => id);
    assert.ok((await listed(ACME)).includes(own.id));
    assert.not.ok((await listed(ACME)).includes(global.id));
    assert.ok((await listed(ROOT)).includes(global.id));
    assert.equal(await listed(GLOBEX), []);
  },
);

accounts('have only roles and scopes that their makers have', async ({ app }) => {
  await rejectsWith(create(app, ACME, { roles: ['superuser'] }), 'invalid-input');
  await rejectsWith(create(app, ROOT, { client: null, roles: ['client-admin'] }), 'invalid-input');
  const { token } = await app.as(ACME).tokens.createNamed({
    name: 'maker',
    scopes: ['serviceAccounts:write', 'users:read'],
  });
  const make = (scopes: string[] | null) =>
    app.send('POST /jb/service-accounts/', {
      headers: { authorization: `Token ${token}` },
      payload: { name: `by token ${++made}`, client: 1, roles: ['client-admin'], scopes },
    });

  assert.is((await make(null)).statusCode, 400);
  assert.is((await make(['users:write'])).statusCode, 400);
  assert.is((await make(['users:read'])).statusCode, 201);
});

accounts('limit all of their tokens by their own scopes', async ({ app }) => {
  const scopes = ['users:read' as const];
  const { send, id } = await withToken(app, { ...ADMIN, scopes });
  const wider = () => app.as(ACME).serviceAccounts.createToken({ id, name: 'wide', scopes: ['users:write'] });

  assert.is((await send('GET /jb/users/')).statusCode, 200);
  assert.is((await send('GET /jb/apps/')).statusCode, 403);
  assert.match((await rejectsWith(wider(), 'invalid-input')).fields?.scopes?.[0] ?? '', 'users:write');
});

accounts(
  'lose their access with the next request: by a change, a revocation or a removal',
  async ({ app }) => {
    const admin = app.as(ACME).serviceAccounts;
    for (const [end, status] of [
      [(id: number) => admin.update({ id, is_active: false }), 401],
      [(id: number) => admin.update({ id, roles: [] }), 403],
      [(id: number) => admin.update({ id, scopes: ['apps:read'] }), 403],
      [
        async (id: number) => admin.revokeToken({ id, token_id: (await admin.tokens({ id }))[0]?.id ?? 0 }),
        401,
      ],
      [(id: number) => admin.remove({ id }), 401],
    ] as const) {
      const { send, id } = await withToken(app);
      assert.is((await send('GET /jb/users/')).statusCode, 200);
      await end(id);
      assert.is((await send('GET /jb/users/')).statusCode, status);
    }
  },
);

accounts('of a superuser act in all clients', async ({ app }) => {
  const { id } = await create(app, ROOT, { client: null, roles: ['superuser'] });
  const { token } = await app.as(ROOT).serviceAccounts.createToken({ id, name: 'Terraform' });
  const send = (line: string, payload?: object) =>
    app.send(line, { headers: { authorization: `Token ${token}` }, ...(payload && { payload }) });

  assert.is((await send('GET /jb/clients/')).json().length > 1, true);
  // Locks all superusers first.
  assert.is((await send(`PATCH /jb/users/${ROOT}/`, { first_name: 'Rosa' })).statusCode, 200);
});

accounts(
  'need a recently entered password, and have names that are unique in their client',
  async ({ app }) => {
    const { name } = await create(app);

    assert.ok(
      (await rejectsWith(create(app, ACME, { name: name.toUpperCase() }), 'invalid-input')).fields?.name,
    );
    assert.is((await create(app, ROOT, { name, client: 2 })).name, name);
  },
);

accounts('say when one of their tokens was used last', async ({ app }) => {
  const unused = await create(app);
  const { id, send } = await withToken(app);
  app.clock.advance(DAY_MS);
  await send('GET /jb/users/');

  const lastUsed = async (id: number) => (await app.as(ACME).serviceAccounts.get({ id })).last_used;
  assert.is(await lastUsed(unused.id), null);
  assert.equal(await lastUsed(id), app.clock.now());
});

accounts('keep tokens until their end', async ({ app }) => {
  const expires_at = new Date(app.clock.now().getTime() + DAY_MS);
  const { send } = await withToken(app, ADMIN, { expires_at });
  app.clock.advance(DAY_MS - 1);
  assert.is((await send('GET /jb/users/')).statusCode, 200);
  app.clock.advance(1);

  assert.is((await send('GET /jb/users/')).statusCode, 401);
});

accounts.run();
