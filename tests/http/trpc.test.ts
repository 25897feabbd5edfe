import { createTRPCClient, httpBatchLink, httpBatchStreamLink, TRPCClientError } from '@trpc/client';
import * as assert from 'uvu/assert';
import { type AppRouter, MAX_BATCH_SIZE, transformer } from '../../src/client.ts';
import { sendBytes } from '../support/http-clients.ts';
import { loggedIn } from '../support/logins.ts';
import { ACME, ADA, addressOf, appSuite, GRACE, IDLE, ROOT, type TestApp } from '../support/test-app.ts';
import { fillPages, SALES } from '../support/usage.ts';

const rpc = appSuite('tRPC over HTTP');

const clientOf = async (
  app: TestApp,
  as?: string,
  link: typeof httpBatchLink | typeof httpBatchStreamLink = httpBatchLink,
  more = {},
) => {
  const headers = as ? { authorization: `Token ${await app.tokenOf(as)}` } : {};
  const url = `${await addressOf(app)}/trpc`;
  return createTRPCClient<AppRouter>({ links: [link({ url, transformer, headers, ...more })] });
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
  const { users } = await clientOf(app, ACME);
  const outcomes = await Promise.allSettled([
    users.update.mutate({ email: ADA, first_name: 'Batch' }),
    users.update.mutate({ email: IDLE, first_name: 'Lost', apps: ['AAAAAAAA'] }),
    users.create.mutate({ email: 'batched@acme.test' }),
  ]);

  assert.is(outcomes.map(({ status }) => status).join(), 'fulfilled,rejected,fulfilled');
  assert.is((await users.get.query({ email: ADA })).first_name, 'Batch');
  assert.is((await users.get.query({ email: IDLE })).first_name, 'Ida');
});

rpc('returns a problem with code and fields, without internals', async ({ app }) => {
  const { users } = await clientOf(app, ACME);
  const { data } = await failure(users.create.mutate({ email: 'bad', apps: ['x'] }));
  const anonymous = await failure((await clientOf(app)).users.list.query({}));
  // @ts-expect-error: the input is required
  const withoutInput = await failure(users.get.query());

  assert.equal([data?.httpStatus, data?.problem.code], [400, 'invalid-input']);
  assert.equal(Object.keys(data?.problem.fields ?? {}), ['email', 'apps.0']);
  assert.is(anonymous.data?.problem.code, 'unauthenticated');
  assert.is(withoutInput.data?.problem.code, 'invalid-input');
  assert.not.ok('stack' in (data ?? {}));
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
  const when = '2020-01-01T00:00:00.000Z';
  for (const [extra, path] of [
    [when, 'extra'],
    [{ when }, 'extra.when'],
  ] as const) {
    const payload = {
      json: { email: ADA, first_name: 'Poisoned', extra },
      meta: { values: { [path]: ['Date'] } },
    };
    assert.is((await app.send('POST !/trpc/users.update', { as: ACME, payload })).statusCode, 400);
  }
  const users = await app.send('GET /jb/users/', { as: ACME });
  assert.is(users.statusCode, 200);
  assert.not.match(users.body, /Poisoned/);
});

rpc('accepts a full batch of the longest names, and sets WWW-Authenticate', async ({ app }) => {
  const full = Array.from({ length: MAX_BATCH_SIZE }, () => 'appPackages.fetch').join(',');
  const batch = await app.send(`POST !/trpc/${full}?batch=1`, { as: ADA, payload: {} });
  const anonymous = await app.send('GET !/trpc/users.list?input={"json":{}}');
  const swapped = await app.send('GET !/trpc/users.create', { as: ACME });

  assert.is(batch.json().length, MAX_BATCH_SIZE);
  assert.equal([anonymous.statusCode, anonymous.headers['www-authenticate']], [401, 'Token']);
  const { code } = swapped.json().error.json.data.problem;
  assert.equal([swapped.statusCode, code], [405, 'method-not-allowed']);
});

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
  await fillPages(app, SALES);
  const [streaming, plain] = [await clientOf(app, ACME, httpBatchStreamLink), await clientOf(app, ACME)];
  const pages = await Array.fromAsync(await streaming.usage.listByApp.query({ app_id: SALES, window: 120 }));
  const refusal = await failure(plain.usage.listByApp.query({ app_id: SALES }));

  assert.ok(pages.length > 1);
  assert.ok(pages.flat().every(({ timestamp }) => timestamp instanceof Date));
  assert.ok(pages.flat().some(({ extra }) => extra.app_id === SALES));
  assert.is(refusal.data?.httpStatus, 415);
  assert.match(refusal.message, /httpBatchStreamLink/);
});

/** Sends calls in a session without a CSRF token. */
const sessionOf = async (app: TestApp) => {
  const { send } = await loggedIn(app, ACME);
  return (path: string, payload: object, headers: Record<string, string> = {}) =>
    send(`POST !/trpc/${path}`, { payload, headers: { 'x-csrftoken': '', ...headers } });
};

rpc('a query by POST with a session needs no CSRF token, but a mutation does', async ({ app }) => {
  const post = await sessionOf(app);
  const query = { json: { email: ADA } };
  const change = { json: { email: GRACE, first_name: 'Forged' } };
  const single = await post('users.get', query);
  const batch = await post('users.get,sites.list?batch=1', { 0: query, 1: { json: {} } });
  const alone = await post('users.update', change);
  const mixed = await post('users.get,users.update?batch=1', { 0: query, 1: change });

  assert.equal([single.statusCode, single.json().result.data.json.email], [200, ADA]);
  assert.is(batch.statusCode, 200, batch.body);
  assert.equal([alone.statusCode, alone.json().error.json.data.problem.code], [403, 'csrf-failed']);
  assert.is(mixed.statusCode, 400);
  assert.is.not((await app.as(ROOT).users.get({ email: GRACE })).first_name, 'Forged');
});

rpc('a query by POST with a session is refused for pages of other sites', async ({ app }) => {
  const post = await sessionOf(app);
  const query = { json: { email: ADA } };
  for (const foreign of [
    { origin: 'https://evil.test' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ]) {
    const { statusCode, json } = await post('users.get', query, foreign as Record<string, string>);
    assert.equal([statusCode, json().error.json.data.problem.code], [403, 'cross-site']);
  }
  assert.is((await post('users.get', query, { 'content-type': 'text/plain' })).statusCode, 415);
});

rpc('a batch over the limit fails with an error that names the limit', async ({ app }) => {
  for (const link of [httpBatchLink, httpBatchStreamLink]) {
    const client = await clientOf(app, ROOT, link, { methodOverride: 'POST' });
    const calls = Array.from({ length: MAX_BATCH_SIZE + 1 }, () => client.sites.list.query());
    for (const { message, data } of await Promise.all(calls.map(failure))) {
      assert.match(message, `at most ${MAX_BATCH_SIZE} calls`);
      assert.equal([data?.httpStatus, data?.problem.code], [400, 'malformed-request']);
    }
  }
});

rpc('failures before the procedure have the error format of tRPC', async ({ app }) => {
  const get = (path: string, ...headers: string[]) =>
    [`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');
  const head = 'POST /trpc/users.get HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
  const long = 'a'.repeat(20_000);
  for (const [bytes, status, code] of [
    [get(`/trpc/users.get?input=${long}`), 431, 'headers-too-large'],
    [get('/trpc/users.get', `X-Long: ${long}`), 431, 'headers-too-large'],
    [get('/trpc/users.get', 'Bad Header: x'), 400, 'malformed-request'],
    [get('/trpc/%E0'), 400, 'malformed-path'],
    [`${head}no chunk\r\n`, 400, 'malformed-request'],
  ] as const) {
    const response = await sendBytes(app, bytes);
    assert.match(response.head, /^content-type: application\/json/im);
    const { data, message } = JSON.parse(response.body).error.json;
    assert.equal([response.status, data.httpStatus, data.problem.code], [status, status, code]);
    assert.type(message, 'string');
  }
  const elsewhere = await sendBytes(app, get(`/api/v1/jb/users/?search=/trpc/${long}`));
  assert.match(elsewhere.head, /^content-type: application\/problem\+json/im);
});

rpc.run();
