import * as assert from 'uvu/assert';
import { HOUR_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, rowsOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const uses = appSuite('uses of tokens');

let made = 0;

/** A new named token of a user, and what sends requests with it. */
const newToken = async (app: TestApp, email: string, scopes?: ['users:read']) => {
  const { id, token } = await app.as(email).tokens.createNamed({ name: `token ${++made}`, scopes });
  const headers = { authorization: `Token ${token}` };
  return {
    id,
    token,
    send: (line: string, payload?: object) => app.send(line, { headers, ...(payload && { payload }) }),
    /** What it needs, by procedure. */
    used: async () => {
      const rows = await app.as(email).tokens.uses({ id });
      return rows.map(({ procedure, scope }) => `${procedure} ${scope}`).sort();
    },
  };
};

uses('are the procedures that it called, newest first, and not the refused ones', async ({ app }) => {
  const { id, send } = await newToken(app, ACME, ['users:read']);
  await send('GET /jb/users/');
  await send('GET /jb/apps/');
  const before = app.clock.now();
  app.clock.advance(HOUR_MS);
  // Refused by its role, not by its scope.
  await send('GET /jb/users/nobody@x.test/');

  assert.equal(await app.as(ACME).tokens.uses({ id }), [
    { procedure: 'users.get', scope: 'users:read', last_used_at: app.clock.now() },
    { procedure: 'users.list', scope: 'users:read', last_used_at: before },
  ]);
  await rejectsWith(app.as(GLOBEX).tokens.uses({ id }), 'not-found');
});

uses('are written once an hour', async ({ app }) => {
  const { id, send } = await newToken(app, ACME);
  const lastUses = async () => {
    await send('GET /jb/users/');
    return (await app.as(ACME).tokens.uses({ id })).map(({ last_used_at: at }) => at.getTime());
  };
  app.clock.advance(HOUR_MS);
  const first = await lastUses();
  const next = HOUR_MS - (app.clock.now().getTime() % HOUR_MS);
  app.clock.advance(next - 1);
  const within = await lastUses();
  app.clock.advance(1);

  assert.equal(within, first);
  assert.equal(await lastUses(), [app.clock.now().getTime()]);
});

uses('are all calls of a batch, and those of paths without a procedure', async ({ app }) => {
  const { send, token, used } = await newToken(app, ADA);
  await app.server.inject({
    url: '/trpc/sites.list,apps.list?batch=1&input={}',
    headers: { authorization: `Token ${token}` },
  });
  await send('GET !/gate/sales/');
  await send(`POST /jb/apps/${SALES}/ticket/`, {});

  assert.equal(await used(), [
    'GET /gate/{app_slug}/ tickets:write',
    'apps.list apps:read',
    'apps.openTicket apps:write',
    'apps.openTicket tickets:write',
    'sites.list sites:read',
  ]);
});

uses('are of the resource too whose ETag a change compares', async ({ app }) => {
  const { token, used } = await newToken(app, ACME);
  await app.send('PATCH /jb/clients/1/', {
    headers: { authorization: `Token ${token}`, 'if-match': '*' },
    payload: { login_title: 'Hello' },
  });

  assert.equal(await used(), ['clients.get clients:read', 'clients.update clients:write']);
});

uses('are passed on to the token that a refresh returns', async ({ app }) => {
  const { send, token, used } = await newToken(app, ACME);
  await send('GET /jb/users/');
  assert.equal(await used(), ['users.list users:read']);
  await app.as(null).tokens.refresh({ token });
  const [newest] = await app.as(ACME).tokens.list({ limit: 1 });

  assert.equal(
    (await app.as(ACME).tokens.uses({ id: newest?.id ?? 0 })).map(({ procedure }) => procedure),
    ['users.list'],
  );
});

uses('narrow a token to what it was used for, and break none of it', async ({ app }) => {
  const { id, send, used } = await newToken(app, ADA);
  const calls = [
    ['GET /jb/sites/'],
    ['GET !/gate/sales/'],
    [`POST /app/launch/sales/`, {}],
    ['GET !/trpc/tokens.list'],
  ] as const;
  const statuses = async () => {
    const answers = [];
    for (const [line, payload] of calls) answers.push((await send(line, payload)).statusCode);
    return answers;
  };
  const before = await statuses();
  const listed = await used();
  const { scopes, ...narrowed } = await app.as(ADA).tokens.narrow({ id });
  const { details } = await rowOf(app, 'audit_entries', { action: 'token.narrow' });

  assert.equal(before, [200, 204, 200, 200]);
  assert.equal(await statuses(), before);
  assert.equal(scopes, ['apps:write', 'sites:read', 'tickets:write', 'tokens:read']);
  assert.equal(details, { id, scopes: { from: null, to: scopes } });
  assert.is((await send('GET /jb/apps/')).statusCode, 403);
  assert.equal(await used(), listed);
  assert.equal(await app.as(ADA).tokens.narrow({ id }), { scopes, ...narrowed });
});

uses('narrow a token to a part of its networks', async ({ app }) => {
  const { id } = await app.as(ADA).tokens.createNamed({ name: 'Office', networks: ['10.0.0.0/8'] });
  const narrow = (network: string) => app.as(ADA).tokens.narrow({ id, networks: [network] });

  const { networks, scopes } = await narrow('10.1.0.0/16');
  assert.equal([networks, scopes], [['10.1.0.0/16'], null]);
  for (const wider of ['10.0.0.0/8', '10.2.0.0/16', '2001:db8::/32'])
    await rejectsWith(narrow(wider), 'invalid-input');
});

uses('narrow a token that narrows itself', async ({ app }) => {
  const { id, send } = await newToken(app, ADA);

  assert.equal((await send(`POST /jb/tokens/${id}/narrow/`)).json().scopes, ['tokens:write']);
});

uses('never widen a token', async ({ app }) => {
  const { id, send } = await newToken(app, ACME, ['users:read']);
  const narrow = (scopes?: ('apps:read' | 'users:read')[]) => app.as(ACME).tokens.narrow({ id, scopes });
  const messageOf = async (call: Promise<unknown>) => (await rejectsWith(call, 'invalid-input')).fields;

  assert.match(String((await messageOf(narrow()))?.scopes), 'used none of its rights in the last 90 days');
  assert.equal(await messageOf(narrow(['apps:read'])), { scopes: ['The token does not have apps:read.'] });
  await send('GET /jb/users/');
  assert.equal((await narrow()).scopes, ['users:read']);
  await rejectsWith(app.as(GLOBEX).tokens.narrow({ id }), 'not-found');
});

uses('narrow a token of a service account within the scopes of the account', async ({ app }) => {
  const admin = app.as(ACME).serviceAccounts;
  const { id } = await admin.create({ name: 'Import', client: 1, roles: ['client-admin'] });
  const { id: token_id, token } = await admin.createToken({ id, name: 'Host' });
  for (const line of ['GET /jb/users/', 'GET /jb/apps/'])
    await app.send(line, { headers: { authorization: `Token ${token}` } });
  await admin.update({ id, scopes: ['users:read', 'users:write'] });

  await rejectsWith(admin.narrowToken({ id, token_id, scopes: ['apps:read'] }), 'invalid-input');
  assert.equal((await admin.narrowToken({ id, token_id })).scopes, ['users:read']);
  const { details } = await rowOf(app, 'audit_entries', { action: 'service-account.narrow-token' });
  assert.equal(details, { id, token: token_id, scopes: { from: null, to: ['users:read'] } });
  await rejectsWith(app.as(GLOBEX).serviceAccounts.narrowToken({ id, token_id }), 'not-found');
});

uses('of a service account are for those who manage it', async ({ app }) => {
  const admin = app.as(ACME).serviceAccounts;
  const { id } = await admin.create({ name: 'Export', client: 1, roles: ['client-admin'] });
  const { id: token_id, token } = await admin.createToken({ id, name: 'Host' });
  await app.send('GET /jb/users/', { headers: { authorization: `Token ${token}` } });

  assert.equal(await admin.tokenUses({ id, token_id }), [
    { procedure: 'users.list', scope: 'users:read', last_used_at: app.clock.now() },
  ]);
  await rejectsWith(app.as(GLOBEX).serviceAccounts.tokenUses({ id, token_id }), 'not-found');
  const { id: other } = await newToken(app, ACME);
  await rejectsWith(admin.tokenUses({ id, token_id: other }), 'not-found');
});

uses('that wait are written when an instance stops', async ({ app }) => {
  const twin = await app.startTwin();
  const { id, token } = await newToken(app, GRACE);
  await twin.server.inject({ url: '/api/v1/jb/sites/', headers: { authorization: `Token ${token}` } });
  await twin.close();

  assert.equal(
    (await rowsOf(app, 'token_uses', { token_id: id })).map(({ procedure }) => procedure),
    ['sites.list'],
  );
});

uses('of a token that was revoked meanwhile lose none of the others', async ({ app }) => {
  const gone = await newToken(app, ROOT);
  const kept = await newToken(app, ROOT);
  await gone.send('GET /jb/sites/');
  await kept.send('GET /jb/sites/');
  await app.as(ROOT).tokens.revoke({ id: gone.id });

  assert.equal(await kept.used(), ['sites.list sites:read']);
});

uses.run();
