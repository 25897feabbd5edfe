import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createScript } from '../support/http-clients.ts';
import { nextCode } from '../support/second-factors.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const responses = appSuite('stored responses of an Idempotency-Key');

const post = (app: TestApp, path: string, as: string, key: string, payload: object) =>
  app.send(`POST ${path}`, { as, payload, headers: { 'idempotency-key': key } });
/** A tRPC call; `json` and `meta` are those of superjson. */
const call = (app: TestApp, name: string, as: string, key: string, json: object) =>
  app.send(`POST !/trpc/${name}`, { as, payload: { json }, headers: { 'idempotency-key': key } });

responses('are encrypted in the database, with a keyed digest of the request', async ({ app }) => {
  const made = (await post(app, '/jb/tokens/', ADA, 'sealed', { name: 'secret name' })).json();
  const rows = await app.db().selectFrom('idempotent_responses').selectAll().execute();
  const bytes = Buffer.concat(rows.map(({ response }) => response ?? Buffer.alloc(0)));

  assert.ok(bytes.length > 0);
  assert.not.ok(bytes.includes(made.token) || bytes.includes('secret name'));
  assert.not.ok(JSON.stringify(rows).includes(made.token));
});

responses('cannot be decrypted after a row is copied to another user or key', async ({ app }) => {
  const grace = (
    await app.db().selectFrom('users').select('id').where('email', '=', GRACE).executeTakeFirstOrThrow()
  ).id;
  await post(app, '/jb/tokens/', ADA, 'mine', { name: 'mine' });
  const row = await app
    .db()
    .selectFrom('idempotent_responses')
    .selectAll()
    .where('key', '=', 'mine')
    .executeTakeFirstOrThrow();
  await app
    .db()
    .insertInto('idempotent_responses')
    .values({ ...row, user_id: grace })
    .execute();

  const stolen = await post(app, '/jb/tokens/', GRACE, 'mine', { name: 'mine' });
  assert.is(stolen.statusCode, 500);
  assert.not.match(stolen.body, /token":/);
});

responses('are the same over REST and tRPC, with dates as Date', async ({ app }) => {
  const extra = JSON.parse('{"a":1,"__proto__":{"b":[2]},"at":"2026-01-01"}');
  const rest = await post(app, '/jb/users/', ACME, 'both', { email: 'both@acme.test', extra });
  const rpc = await call(app, 'users.create', ACME, 'both', { extra, email: 'both@acme.test' });
  const again = await post(app, '/jb/users/', ACME, 'both', { email: 'both@acme.test', extra });

  assert.is(rest.statusCode, 200, rest.body);
  assert.is(rpc.statusCode, 200, rpc.body);
  assert.is(rpc.headers['idempotency-replayed'], 'true');
  const { json, meta } = rpc.json().result.data;
  assert.equal(JSON.stringify(json), rest.body);
  assert.equal(meta.values.date_joined, ['Date']);
  assert.is(again.body, rest.body);
  assert.is(again.headers['idempotency-replayed'], 'true');
  assert.is(rest.headers['idempotency-replayed'], undefined);
});

responses('are replayed with the original status, even without a body', async ({ app }) => {
  const first = await post(app, '/jb/tokens/', ADA, 'status', { name: 'status' });
  assert.equal((await post(app, '/jb/tokens/', ADA, 'status', { name: 'status' })).json(), first.json());

  const revoke = () =>
    app.send(`DELETE /jb/tokens/${first.json().id}/`, { as: ADA, headers: { 'idempotency-key': 'revoke' } });
  assert.equal([(await revoke()).statusCode, (await revoke()).statusCode], [204, 204]);
});

responses('are refused for another body, path or operation with the same key', async ({ app }) => {
  await post(app, '/jb/tokens/', ADA, 'one', { name: 'one' });
  for (const response of [
    await post(app, '/jb/tokens/', ADA, 'one', { name: 'two' }),
    await post(app, '/hashr/saved_global_filters/', ADA, 'one', { name: 'one' }),
    await call(app, 'savedFilters.create', ADA, 'one', { name: 'one' }),
  ]) {
    assert.is(response.statusCode, response.body.includes('csrf') ? 403 : 409, response.body);
  }
});

responses('are not stored for failures: the work is rolled back and the key stays free', async ({ app }) => {
  const bad = [
    { email: 'fine@x.test', client: 1 },
    { email: 'bad', client: 1 },
  ];
  assert.is((await post(app, '/jb/users/invitations/', ACME, 'failed', bad)).statusCode, 400);
  const taken = await post(app, '/jb/users/', ACME, 'failed', { email: ADA });
  assert.is(taken.statusCode, 400, taken.body);
  assert.is((await post(app, '/jb/users/', ACME, 'failed', { email: 'free@acme.test' })).statusCode, 200);
});

responses('are stored for a dry run, too', async ({ app }) => {
  const path = '/jb/users/invitations/?dry_run=true';
  const items = [{ email: 'dry@x.test', client: 1 }];
  const runs = await Promise.all(
    Array.from({ length: 20 }, (_, n) => post(app, path, ACME, `dry-${n}`, items)),
  );

  assert.equal([...new Set(runs.map(({ statusCode }) => statusCode))], [200]);
  assert.equal(
    await app.db().selectFrom('invitations').select('id').where('email', '=', 'dry@x.test').execute(),
    [],
  );
});

responses('are not stored for public paths, which ignore the key', async ({ app }) => {
  const login = () =>
    post(app, '/api-token-auth/', '', 'login', { username: ROOT, password: 'steward-demo-1' });
  const [first, second] = [await login(), await login()];
  assert.is(first.statusCode, 200, first.body);
  assert.is.not(first.json().token, second.json().token);
});

responses('are replayed over a streamed call', async ({ app }) => {
  const payload = { 0: { json: { name: 'streamed' } } };
  const headers = { 'idempotency-key': 'streamed', 'trpc-accept': 'application/jsonl' };
  const send = () => app.send('POST !/trpc/tokens.createNamed?batch=1', { as: ADA, payload, headers });
  const tokenIn = (body: string) => /"token":"([0-9a-f]{40})"/.exec(body)?.[1];
  const [first, repeat] = [await send(), await send()];

  assert.ok(tokenIn(first.body), first.body);
  assert.is(tokenIn(repeat.body), tokenIn(first.body));
});

responses('are not stored if they have secrets of second factors', async ({ app }) => {
  const browser = createScript(app);
  await browser.logIn(GRACE, DEMO_PASSWORD);
  const twice = async (line: string, payload?: object) => {
    const request = {
      ...(payload && { payload }),
      headers: { 'idempotency-key': `secret ${line}`.replaceAll(' ', '-') },
    };
    const first = await browser.send(line, request);
    assert.is(first.statusCode, 200, first.body);
    const repeat = await browser.send(line, request);
    assert.is(repeat.json().type, 'urn:steward:problem:idempotency-key-reused');
    assert.match(repeat.json().detail, 'already carried out');
    return first.json();
  };

  const { secret } = await twice('POST /mfa/totp/');
  await twice('POST /mfa/totp/confirm/', { code: nextCode(app, secret) });
  const { recovery_codes } = await twice('POST /mfa/recovery-codes/');
  const stored = await app
    .db()
    .selectFrom('idempotent_responses')
    .select(sql<number>`length(response)`.as('bytes'))
    .where('key', 'like', 'secret-%')
    .execute();

  assert.is(recovery_codes.length, 10);
  assert.is(stored.length, 3);
  for (const { bytes } of stored) assert.ok(bytes < 64, `${bytes} bytes are an empty text, encrypted`);
});

responses.run();
