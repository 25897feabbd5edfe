import { createTRPCClient, httpBatchLink, httpBatchStreamLink, TRPCClientError } from '@trpc/client';
import * as assert from 'uvu/assert';
import { type AppRouter, MAX_BATCH_SIZE, transformer } from '../../src/client.ts';
import { ACME, ADA, appSuite, IDLE, ROOT, type TestApp } from '../support/test-app.ts';
import { fillPages, SALES } from '../support/usage.ts';

const rpc = appSuite('tRPC over HTTP');

const clientOf = async (app: TestApp, as?: string) => {
  if (!app.server.server.listening) await app.server.listen({ port: 0, host: '127.0.0.1' });
  const headers = as ? { authorization: `Token ${await app.tokenOf(as)}` } : {};
  const url = `${app.server.listeningOrigin}/trpc`;
  return createTRPCClient<AppRouter>({
    links: [httpBatchLink({ url, transformer, headers, maxItems: MAX_BATCH_SIZE })],
  });
};
const failure = async (promise: Promise<unknown>): Promise<TRPCClientError<AppRouter>> => {
  const [outcome] = await Promise.allSettled([promise]);
  if (outcome.status === 'rejected' && outcome.reason instanceof TRPCClientError) return outcome.reason;
  throw new Error('must fail with an answer of the server');
};

rpc('returns timestamps as Date', async ({ app }) => {
  const user = await (await clientOf(app, ACME)).users.get.query({ email: ADA });

  assert.equal(user.date_joined, app.clock.now());
  assert.is(user.last_login, null);
});

rpc('has the time of the clock that its timestamps are of, in its header Date', async ({ app }) => {
  const { headers } = await app.server.inject('/trpc/auth.csrf');

  assert.is(headers.date, app.clock.now().toUTCString());
});

rpc('isolates the calls of a batch: a failing call does not affect others', async ({ app }) => {
  const client = await clientOf(app, ACME);
  const outcomes = await Promise.allSettled([
    client.users.update.mutate({ email: ADA, first_name: 'Batch' }),
    client.users.update.mutate({ email: IDLE, first_name: 'Lost', apps: ['AAAAAAAA'] }),
    client.users.create.mutate({ email: 'batched@acme.test' }),
    client.users.create.mutate({ email: ADA }),
  ]);

  assert.equal(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  );
  assert.is((await client.users.get.query({ email: ADA })).first_name, 'Batch');
  assert.is((await client.users.get.query({ email: IDLE })).first_name, 'Ida');
});

rpc('returns a problem with code and fields, without internals', async ({ app }) => {
  const client = await clientOf(app, ACME);
  const invalid = await failure(client.users.create.mutate({ email: 'bad', apps: ['x'] }));
  const anonymous = await failure((await clientOf(app)).users.list.query({}));

  assert.is(invalid.data?.httpStatus, 400);
  assert.is(invalid.data?.problem.code, 'invalid-input');
  assert.equal(Object.keys(invalid.data?.problem.fields ?? {}), ['email', 'apps.0']);
  assert.is(anonymous.data?.problem.code, 'unauthenticated');
  assert.not.ok('stack' in (invalid.data ?? {}));
});

rpc('returns users whose extra has keys that superjson refuses', async ({ app }) => {
  const extra = '{"deep":[{"__proto__":{"polluted":true}}],"constructor":1}';
  await app.as(ACME).users.update({ email: ADA, extra: JSON.parse(extra) });

  const answer = await app.send('GET !/trpc/users.list?input={"json":{}}', { as: ACME });
  const users = await (await clientOf(app, ACME)).users.list.query({});

  assert.ok(answer.body.includes(extra), answer.body);
  assert.ok(users.some((user) => user.email === ADA));
  assert.is(Reflect.get({}, 'polluted'), undefined);
});

rpc('accepts a call without input unless one is required', async ({ app }) => {
  const client = await clientOf(app, ACME);
  const [sites, same] = await Promise.all([client.sites.list.query(), client.sites.list.query({})]);
  // @ts-expect-error: the input is required
  const refused = await failure(client.users.get.query());

  assert.equal(sites, same);
  assert.is((await app.send('GET !/trpc/sites.list', { as: ACME })).statusCode, 200);
  assert.is(refused.data?.problem.code, 'invalid-input');
});

rpc('accepts the largest bulk as a single call, and 1 MiB otherwise', async ({ app }) => {
  const client = await clientOf(app, ACME);
  const extra = { text: 'x'.repeat(50_000) };
  const items = Array.from({ length: 40 }, (_, n) => ({ email: `large${n}@x.test`, extra }));

  assert.is((await client.invitations.create.mutate({ items })).length, 40);
  const headers = { authorization: `Token ${await app.tokenOf(ACME)}`, 'content-type': 'application/json' };
  const payload = JSON.stringify({ json: { email: ADA, first_name: 'x'.repeat(1_100_000) } });
  const refused = await app.send('POST !/trpc/users.update', { headers, payload });
  assert.is(refused.statusCode, 413);
});

rpc('refuses a batch over the limit', async ({ app }) => {
  const path = Array.from({ length: MAX_BATCH_SIZE + 1 }, () => 'sites.list').join(',');
  const response = await app.send(`GET !/trpc/${path}?batch=1&input={}`, { as: ADA });

  assert.is(response.statusCode, 400);
});

rpc('does not accept forms', async ({ app }) => {
  for (const type of ['multipart/form-data; boundary=x', 'application/x-www-form-urlencoded', 'text/plain']) {
    const response = await app.send('POST !/trpc/users.create', {
      as: ACME,
      payload: '{"json":{"email":"form@acme.test"}}',
      headers: { 'content-type': type },
    });
    assert.is(response.statusCode, 415, type);
  }
  assert.is((await app.send('GET /jb/users/form@acme.test/', { as: ACME })).statusCode, 404);
});

rpc('refuses values other than JSON, Date and undefined before authentication', async ({ app }) => {
  const send = (json: unknown, meta: unknown, procedure = 'tokens.create') =>
    app.send(`POST !/trpc/${procedure}`, { as: ACME, payload: { json, meta } });
  const many = Array.from({ length: 3000 }, (_, n) => n);

  for (const [json, kind] of [
    [{ username: 2e9, password: 'x' }, ['typed-array', 'Float64Array']],
    [{ username: '9'.repeat(10_000), password: 'x' }, 'bigint'],
    [{ username: many, password: 'x' }, 'set'],
    [{ username: '/(a+)+$/', password: 'x' }, 'regexp'],
    [{ username: 'http://x.test', password: 'x' }, 'URL'],
  ] as const) {
    const response = await send(json, { values: { username: [kind] } });
    assert.is(response.statusCode, 400, String(kind));
  }
  const cyclic = { email: ADA, extra: { a: null, b: null } };
  const references = { referentialEqualities: { extra: ['extra.a', 'extra.b'] } };
  assert.is((await send(cyclic, references, 'users.update')).statusCode, 200);
});

rpc('refuses annotations whose paths would take seconds', async ({ app }) => {
  const children = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [n, ['undefined']]));
  const values = { [`${'a.'.repeat(100_000)}a`]: children };
  for (const procedure of ['sites.list', 'sites.create']) {
    const payload = { json: {}, meta: { values } };
    assert.is((await app.send(`POST !/trpc/${procedure}`, { payload })).statusCode, 401);
    assert.is((await app.send(`POST !/trpc/${procedure}`, { payload, as: ROOT })).statusCode, 413);
  }
  const anonymous = await app.send('POST !/trpc/tokens.createByEmail', {
    payload: {
      json: { email: 'x', password: 'y' },
      meta: { values: { [`${'a.'.repeat(3000)}a`]: { 0: ['undefined'] } } },
    },
  });
  assert.is(anonymous.statusCode, 413);
});

rpc('refuses an extra that superjson would not restore as an object', async ({ app }) => {
  for (const values of [{ extra: ['Date'] }, { 'extra.when': ['Date'] }]) {
    const at = '2020-01-01T00:00:00.000Z';
    const json = { email: ADA, first_name: 'Poisoned', extra: 'extra.when' in values ? { when: at } : at };
    const response = await app.send('POST !/trpc/users.update', {
      as: ACME,
      payload: { json, meta: { values } },
    });
    assert.is(response.statusCode, 400);
  }
  const users = await app.send('GET /jb/users/', { as: ACME });
  assert.is(users.statusCode, 200);
  assert.not.match(users.body, /Poisoned/);
});

rpc(
  'accepts a full batch of the longest names and sets WWW-Authenticate and Retry-After',
  async ({ app }) => {
    const full = Array.from({ length: MAX_BATCH_SIZE }, () => 'appPackages.fetch').join(',');
    const batch = await app.send(`POST !/trpc/${full}?batch=1`, { as: ADA, payload: {} });
    const anonymous = await app.send('GET !/trpc/users.list?input={"json":{}}');
    const swapped = await app.send('GET !/trpc/users.create', { as: ACME });

    assert.is(batch.json().length, MAX_BATCH_SIZE);
    assert.equal([anonymous.statusCode, anonymous.headers['www-authenticate']], [401, 'Token']);
    assert.equal(
      [swapped.statusCode, swapped.json().error.json.data.problem.code],
      [405, 'method-not-allowed'],
    );
  },
);

rpc('answers invalid requests with 4xx', async ({ app }) => {
  const lines = [
    'GET !/trpc/nothing.here',
    'GET !/trpc/users.list?input=%7Bbroken',
    'GET !/trpc/users.create?input={}',
    'GET !/trpc/__proto__.toString',
    'GET !/trpc/users.get?input={"json":{"email":7}}',
    'GET !/trpc/users.get?input={"json":{"email":"a"},"meta":{"values":{"__proto__.x":["Date"]}}}',
    'GET !/trpc/%E0%A4',
    'POST !/trpc/users.create',
  ];
  for (const line of lines) {
    const response = await app.send(line, { as: ACME });
    assert.ok(response.statusCode >= 400 && response.statusCode < 500, `${line}: ${response.statusCode}`);
    assert.not.match(response.body, /at .*\.(ts|js):\d/);
  }
});

rpc('streams the usage log page by page, and fails for links that do not stream', async ({ app }) => {
  const plain = await clientOf(app, ACME);
  await fillPages(app, SALES);
  const url = `${app.server.listeningOrigin}/trpc`;
  const headers = { authorization: `Token ${await app.tokenOf(ACME)}` };
  const streaming = createTRPCClient<AppRouter>({
    links: [httpBatchStreamLink({ url, transformer, headers })],
  });
  const pages = await Array.fromAsync(await streaming.usage.listByApp.query({ app_id: SALES, window: 120 }));
  const refusal = await failure(plain.usage.listByApp.query({ app_id: SALES }));

  assert.ok(pages.length > 1);
  assert.ok(pages.flat().every(({ timestamp }) => timestamp instanceof Date));
  assert.ok(pages.flat().some(({ extra }) => extra.app_id === SALES));
  assert.is(refusal.data?.httpStatus, 415);
  assert.match(refusal.message, /httpBatchStreamLink/);
});

rpc.run();
