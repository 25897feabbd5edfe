import { createTRPCClient, httpBatchLink, httpBatchStreamLink, TRPCClientError } from '@trpc/client';
import * as assert from 'uvu/assert';
import { type AppRouter, MAX_BATCH_SIZE, transformer } from '../../src/client.ts';
import { createScript, sendBytes } from '../support/http-clients.ts';
import {
  ACME,
  ADA,
  addressOf,
  appSuite,
  DEMO_PASSWORD,
  GRACE,
  IDLE,
  ROOT,
  type TestApp,
} from '../support/test-app.ts';
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

const postClientOf = async (app: TestApp, link: typeof httpBatchLink | typeof httpBatchStreamLink) =>
  createTRPCClient<AppRouter>({
    links: [
      link({
        url: `${await addressOf(app)}/trpc`,
        transformer,
        headers: { authorization: `Token ${await app.tokenOf(ROOT)}` },
        methodOverride: 'POST',
      }),
    ],
  });

const sessionOf = async (app: TestApp) => {
  const script = createScript(app);
  await script.logIn(ACME, DEMO_PASSWORD);
  const post = (path: string, payload: object, headers: Record<string, string>) =>
    script.send(`POST !/trpc/${path}`, { payload, headers });
  return { post };
};

const NO_CSRF_TOKEN = { 'x-csrftoken': '' };

rpc('a query by POST returns the same as by GET', async ({ app }) => {
  const client = await postClientOf(app, httpBatchLink);
  const [ada, sites] = await Promise.all([client.users.get.query({ email: ADA }), client.sites.list.query()]);

  assert.is(ada.email, ADA);
  assert.equal(sites, await app.as(ROOT).sites.list({}));
});

rpc('a query by POST with a session needs no CSRF token', async ({ app }) => {
  const { post } = await sessionOf(app);
  const single = await post('users.get', { json: { email: ADA } }, NO_CSRF_TOKEN);
  const batch = await post(
    'users.get,sites.list?batch=1',
    { 0: { json: { email: ADA } }, 1: { json: {} } },
    NO_CSRF_TOKEN,
  );

  assert.is(single.statusCode, 200, single.body);
  assert.is(single.json().result.data.json.email, ADA);
  assert.is(batch.statusCode, 200, batch.body);
});

rpc('a mutation with a session needs a CSRF token, alone or in a batch with a query', async ({ app }) => {
  const { post } = await sessionOf(app);
  const change = { json: { email: GRACE, first_name: 'Forged' } };
  const alone = await post('users.update', change, NO_CSRF_TOKEN);
  const mixed = await post(
    'users.get,users.update?batch=1',
    { 0: { json: { email: ADA } }, 1: change },
    NO_CSRF_TOKEN,
  );

  assert.is(alone.statusCode, 403);
  assert.is(alone.json().error.json.data.problem.code, 'csrf-failed');
  assert.is(mixed.statusCode, 400);
  assert.is.not((await app.as(ROOT).users.get({ email: GRACE })).first_name, 'Forged');
});

rpc('a query by POST with a session is refused for pages of other sites', async ({ app }) => {
  const { post } = await sessionOf(app);
  for (const foreign of [
    { origin: 'https://evil.test' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ] as Record<string, string>[]) {
    const response = await post('users.get', { json: { email: ADA } }, { ...NO_CSRF_TOKEN, ...foreign });
    assert.is(response.statusCode, 403, JSON.stringify(foreign));
    assert.is(response.json().error.json.data.problem.code, 'cross-site');
  }
  const form = await post(
    'users.get',
    { json: { email: ADA } },
    { ...NO_CSRF_TOKEN, 'content-type': 'text/plain' },
  );
  assert.is(form.statusCode, 415);
});

rpc('a batch over the limit fails with an error that names the limit', async ({ app }) => {
  for (const link of [httpBatchLink, httpBatchStreamLink]) {
    const client = await postClientOf(app, link);
    const calls = Array.from({ length: MAX_BATCH_SIZE + 1 }, () => client.sites.list.query());
    const failures = await Promise.all(calls.map(failure));

    for (const { message, data } of failures) {
      assert.match(message, `at most ${MAX_BATCH_SIZE} calls`);
      assert.is(data?.httpStatus, 400);
      assert.is(data?.problem.code, 'malformed-request');
    }
  }
});

rpc('failures before the procedure have the error format of tRPC', async ({ app }) => {
  const problemOf = async (bytes: string) => {
    const response = await sendBytes(app, bytes);
    assert.match(response.head, /^content-type: application\/json/im);
    const { data, message } = JSON.parse(response.body).error.json;
    assert.is(data.httpStatus, response.status);
    assert.type(message, 'string');
    return [response.status, data.problem.code];
  };
  const get = (path: string, ...headers: string[]) =>
    [`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');

  assert.equal(await problemOf(get(`/trpc/users.get?input=${'a'.repeat(20_000)}`)), [
    431,
    'headers-too-large',
  ]);
  assert.equal(await problemOf(get('/trpc/users.get', `X-Long: ${'a'.repeat(20_000)}`)), [
    431,
    'headers-too-large',
  ]);
  assert.equal(await problemOf(get('/trpc/users.get', 'Bad Header: x')), [400, 'malformed-request']);
  assert.equal(await problemOf(get('/trpc/%E0')), [400, 'malformed-path']);
  const broken = 'POST /trpc/users.get HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n';
  assert.equal(await problemOf(broken), [400, 'malformed-request']);
});

rpc('the same failures outside /trpc are problem documents', async ({ app }) => {
  const request = `GET /api/v1/jb/users/?search=/trpc/${'a'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const response = await sendBytes(app, request);

  assert.is(response.status, 431);
  assert.match(response.head, /^content-type: application\/problem\+json/im);
});

rpc.run();
