import type { AnyTRPCProcedure } from '@trpc/server';
import * as assert from 'uvu/assert';
import { appRouter } from '../../routers/index.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { isToken } from '../../src/lib/ids.ts';
import { ALSO_NEEDED, NOUNS, SCOPES, scopeOf, scopesOf } from '../../src/services/access/action-scopes.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';

const scopes = appSuite('scopes of tokens');

type Limits = Omit<Parameters<ReturnType<TestApp['as']>['tokens']['createNamed']>[0], 'name'>;

let made = 0;

/** A new token of a user with these limits. */
const makeToken = async (app: TestApp, email: string, limits: Limits) =>
  (await app.as(email).tokens.createNamed({ name: `token ${++made}`, ...limits })).token;

const sendWith = (app: TestApp, token: string, line: string, payload?: object) =>
  app.send(line, { headers: { authorization: `Token ${token}` }, ...(payload && { payload }) });

const statusOf = async (app: TestApp, token: string, line = 'GET /jb/users/') =>
  (await sendWith(app, token, line)).statusCode;

scopes('are the nouns of the router, each for reading and changing', () => {
  const procedures = Object.entries(appRouter._def.procedures as unknown as Record<string, AnyTRPCProcedure>);
  const needed = procedures.map(([name, { _def }]) => scopeOf(name, _def.type));

  assert.equal([...new Set(procedures.map(([name]) => name.split('.')[0]))].sort(), [...NOUNS].sort());
  assert.equal(
    needed.filter((scope) => !SCOPES.includes(scope)),
    [],
  );
  assert.is(scopeOf('users.update', 'mutation'), 'users:write');
  assert.equal(scopesOf('operations.undo', 'mutation'), ['operations:write', 'users:write']);
  const names = procedures.map(([name]) => name);
  assert.equal(
    Object.keys(ALSO_NEEDED).filter((name) => !names.includes(name)),
    [],
  );
});

scopes('let a token do only what they name; the refusal names the missing one', async ({ app }) => {
  const token = await makeToken(app, ACME, { scopes: ['users:read'] });
  const refused = await sendWith(app, token, 'PATCH /jb/users/ada@acme.test/', { first_name: 'Augusta' });

  assert.is(await statusOf(app, token), 200);
  assert.is(refused.statusCode, 403);
  assert.is(refused.json().type, 'urn:steward:problem:insufficient-scope');
  assert.match(refused.json().detail, 'users:write');
  assert.is(refused.headers['www-authenticate'], 'Token error="insufficient_scope", scope="users:write"');
  for (const line of ['GET /jb/apps/', 'GET /jb/tokens/', 'GET /session/', 'DELETE /jb/users/ada@acme.test/'])
    assert.is(await statusOf(app, token, line), 403, line);
  assert.is((await app.as(ROOT).users.get({ email: ADA })).first_name, 'Ada');
});

scopes('of opening apps are needed by launches and forward authentication', async ({ app }) => {
  const token = await makeToken(app, ADA, { scopes: ['apps:read'] });

  assert.is(await statusOf(app, token, 'GET !/gate/sales/'), 403);
  assert.is(
    await statusOf(app, await makeToken(app, ADA, { scopes: ['tickets:write'] }), 'GET !/gate/sales/'),
    204,
  );
});

scopes('and roles must both allow a call', async ({ app }) => {
  assert.is(await statusOf(app, await makeToken(app, ADA, { scopes: ['users:read'] })), 403);
});

scopes('are within one client for a token that names it', async ({ app }) => {
  const token = await makeToken(app, ACME, { client: 1 });
  const listed = (await sendWith(app, token, 'GET /jb/clients/')).json();

  assert.equal(
    listed.map(({ id }: { id: number }) => id),
    [1],
  );
  assert.is((await sendWith(app, token, 'PATCH /jb/profile/', { first_name: 'A' })).statusCode, 403);
  const wrong = await rejectsWith(makeToken(app, ACME, { client: 2 }), 'invalid-input');
  assert.equal(wrong.fields, { client: ['You are not an active member of client 2.'] });
});

scopes('count only from the networks of the token', async ({ app }) => {
  const here = await makeToken(app, ACME, { networks: ['127.0.0.0/8'] });
  const elsewhere = await makeToken(app, ACME, { networks: ['10.0.0.0/8', '2001:db8::/32'] });

  assert.is(await statusOf(app, here), 200);
  assert.is(await statusOf(app, elsewhere), 401);
  for (const networks of [[' '], [], ['10.0.0.1/8'], ['everywhere']])
    await rejectsWith(makeToken(app, ACME, { networks }), 'invalid-input');
});

scopes('count until the token ends', async ({ app }) => {
  const token = await makeToken(app, ACME, { expires_at: new Date(app.clock.now().getTime() + DAY_MS) });
  await rejectsWith(makeToken(app, ACME, { expires_at: app.clock.now() }), 'invalid-input');

  assert.is(await statusOf(app, token), 200);
  app.clock.advance(DAY_MS);
  assert.is(await statusOf(app, token), 401);
});

scopes('of a token that makes or refreshes another one are never exceeded', async ({ app }) => {
  await app.renewToken(GLOBEX);
  const end = new Date(app.clock.now().getTime() + DAY_MS);
  const parent = await makeToken(app, GLOBEX, { scopes: ['tokens:write', 'users:read'], expires_at: end });
  const make = (body: object) =>
    sendWith(app, parent, 'POST /jb/tokens/', { name: `child ${++made}`, ...body });
  const child = await make({});
  const refreshed = await app.as(null).tokens.refresh({ token: child.json().token });

  assert.equal(
    [child.json().scopes, child.json().expires_at],
    [['tokens:write', 'users:read'], end.toISOString()],
  );
  assert.equal((await make({ scopes: ['users:read'] })).json().scopes, ['users:read']);
  assert.is(
    (await make({ scopes: ['users:write'] })).json().errors.scopes[0],
    'Your token does not have users:write.',
  );
  assert.is((await make({ expires_at: '2099-01-01T00:00:00Z' })).statusCode, 400);
  assert.is(await statusOf(app, refreshed.token), 200);
  assert.is(await statusOf(app, refreshed.token, 'GET /jb/apps/'), 403);
  app.clock.advance(DAY_MS);
  assert.is(await statusOf(app, refreshed.token), 401);
});

scopes('are not widened by a client, a replay, a ticket or an invitation', async ({ app }) => {
  const provider = { name: 'Acme', issuer: 'https://login.acme.test', client_id: 'steward' };
  const shared = 'of-two@acme.test';
  await app.as(ACME).users.create({ email: shared });
  for (const id of [1, 2]) await app.as(ROOT).roles.setClientAdmin({ id, email: shared, is_admin: true });
  const connection = await app.as(ACME).sso.create({ id: 1, ...provider });
  await app.confine(shared, connection.id);
  const confined = await rejectsWith(makeToken(app, shared, { client: 2 }), 'invalid-input');
  assert.equal(confined.fields, { client: ['Your token is confined to client 1.'] });

  const narrow = await makeToken(app, ACME, { scopes: ['tokens:write', 'apps:write'] });
  const headers = { 'idempotency-key': 'guessed' };
  const payload = { name: 'wide' };
  await app.send('POST /jb/tokens/', { as: ACME, payload, headers });
  const repeat = await app.send('POST /jb/tokens/', {
    payload: { name: 'again' },
    headers: { ...headers, authorization: `Token ${narrow}` },
  });
  assert.equal(repeat.json().scopes, ['tokens:write', 'apps:write']);
  const ticket = await sendWith(app, narrow, 'POST /jb/apps/zylTKNVx/ticket/', {});
  assert.is(ticket.json().type, 'urn:steward:problem:insufficient-scope');
});

scopes('belong to tokens with a prefix and a checksum, which scanners recognise', async ({ app }) => {
  await app.renewToken(ACME);
  const token = await makeToken(app, ACME, {});
  const damaged = token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));

  assert.match(token, /^stw_[A-Za-z0-9]{36}$/);
  assert.equal([isToken(token), isToken(damaged)], [true, false]);
  assert.is(await statusOf(app, token), 200);
  assert.is(await statusOf(app, damaged), 401);
});

scopes.run();
