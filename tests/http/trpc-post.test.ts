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
  ROOT,
  type TestApp,
} from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const rpc = appSuite('tRPC queries by POST and limits');

const clientOf = async (app: TestApp, link: typeof httpBatchLink | typeof httpBatchStreamLink) =>
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

const failureOf = async (promise: Promise<unknown>): Promise<TRPCClientError<AppRouter>> => {
  const [outcome] = await Promise.allSettled([promise]);
  if (outcome.status === 'rejected' && outcome.reason instanceof TRPCClientError) return outcome.reason;
  throw new Error('must fail with an answer of the server');
};

const sessionOf = async (app: TestApp) => {
  const script = createScript(app);
  await script.logIn(ACME, DEMO_PASSWORD);
  const post = (path: string, payload: object, headers: Record<string, string>) =>
    script.send(`POST !/trpc/${path}`, { payload, headers });
  return { post };
};
const NO_CSRF_TOKEN = { 'x-csrftoken': '' };

rpc('a query by POST returns the same as by GET', async ({ app }) => {
  const client = await clientOf(app, httpBatchLink);
  const [ada, sites] = await Promise.all([client.users.get.query({ email: ADA }), client.sites.list.query()]);

  assert.is(ada.email, ADA);
  assert.equal(sites, await app.as(ROOT).sites.list({}));
});

rpc('a streamed query works by POST', async ({ app }) => {
  const client = await clientOf(app, httpBatchStreamLink);
  const pages = await Array.fromAsync(await client.usage.listByApp.query({ app_id: SALES, window: 120 }));

  assert.ok(pages.flat().length > 0);
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

rpc('a mutation by GET is refused', async ({ app }) => {
  const input = encodeURIComponent(JSON.stringify({ json: { email: GRACE, first_name: 'By GET' } }));
  const response = await app.send(`GET !/trpc/users.update?input=${input}`, { as: ROOT });

  assert.is(response.statusCode, 405);
});

rpc('a batch over the limit fails with an error that names the limit', async ({ app }) => {
  for (const link of [httpBatchLink, httpBatchStreamLink]) {
    const client = await clientOf(app, link);
    const calls = Array.from({ length: MAX_BATCH_SIZE + 1 }, () => client.sites.list.query());
    const failures = await Promise.all(calls.map(failureOf));

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
