import { createTRPCClient, httpBatchLink, httpBatchStreamLink, TRPCClientError } from '@trpc/client';
import * as assert from 'uvu/assert';
import { type AppRouter, transformer } from '../../src/client.ts';
import { ACME, ADA, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const LIMIT = 40;

const limited = appSuite('rate limit', {
  RATE_LIMIT_PER_MINUTE: String(LIMIT),
  CORS_ORIGINS: '*',
  TRUST_PROXY: '1',
});

/** An anonymous caller with the given address. */
const from = (address: string) => ({ 'x-forwarded-for': address });

const remainingOf = ({ headers }: { headers: Record<string, unknown> }): number =>
  Number(/^"default";r=(\d+);t=\d+$/.exec(String(headers.ratelimit))?.[1]);

const useUp = async (app: TestApp, as: string): Promise<void> => {
  for (let n = 0; n < LIMIT; n += 1) await app.send('GET /jb/sites/', { as });
};

limited('sets headers on every response and ends in 429', async ({ app }) => {
  const first = await app.send('GET /jb/sites/', { as: ADA });
  assert.is(first.headers['ratelimit-policy'], `"default";q=${LIMIT};w=60`);
  assert.is(remainingOf(first), LIMIT - 1);

  await useUp(app, ADA);
  const refused = await app.send('GET /jb/sites/', { as: ADA, headers: { origin: 'https://x.test' } });
  assert.is(refused.statusCode, 429);
  assert.is(refused.json().type, 'urn:steward:problem:rate-limited');
  assert.is(remainingOf(refused), 0);
  const wait = Number(refused.headers['retry-after']);
  assert.ok(wait >= 1 && wait <= 60);
  assert.match(String(refused.headers.ratelimit), `t=${wait}`);
  assert.is(refused.headers['access-control-allow-origin'], '*');
  assert.is(refused.headers['cache-control'], 'no-store');
  assert.is(refused.headers['x-content-type-options'], 'nosniff');
});

limited('counts callers without a valid credential by address', async ({ app }) => {
  const headers = from('192.0.2.2');
  const bad = (n: number) => ({ ...headers, authorization: `Token ${String(n).padStart(40, '0')}` });
  for (let n = 0; n < LIMIT; n += 1) await app.send('GET /jb/sites/', { headers: bad(n) });

  assert.is((await app.send('GET /jb/sites/', { headers: bad(LIMIT) })).statusCode, 429);
  assert.is((await app.send('GET /branding/', { headers })).statusCode, 429);
  assert.is((await app.send('GET /branding/', { headers: from('192.0.2.3') })).statusCode, 200);
  assert.is((await app.send('GET /jb/sites/', { as: STAFF, headers })).statusCode, 200);
});

limited('counts refused requests, but not health checks, avatars and OPTIONS', async ({ app }) => {
  const headers = from('192.0.2.4');
  const counted = [
    'GET /nowhere/',
    'DELETE /jb/sites/',
    'GET /jb/sites/',
    'HEAD /branding/',
    'PUT !/trpc/sites.list',
    'GET !/login/',
    'POST !/login/',
  ];
  const large = await app.send('POST /api-token-auth/', {
    payload: { username: 'x'.repeat(1_100_000) },
    headers,
  });
  assert.equal([large.statusCode, remainingOf(large)], [413, LIMIT - 1]);
  for (const [index, line] of counted.entries())
    assert.is(remainingOf(await app.send(line, { headers })), LIMIT - 2 - index, line);

  const unlimited = [
    'GET !/healthz',
    'GET !/readyz',
    'GET /status',
    'GET !/avatars/a.svg',
    'OPTIONS /jb/sites/',
  ];
  for (const line of unlimited)
    assert.is((await app.send(line, { headers })).headers.ratelimit, undefined, line);
  assert.is(remainingOf(await app.send('GET /branding/', { headers })), LIMIT - 2 - counted.length);
});

limited('counts each call of a batch, even with encoded commas', async ({ app }) => {
  const call = (names: string) => app.send(`GET !/trpc/${names}?batch=1&input={}`, { as: ACME });

  assert.is(remainingOf(await call('sites.list,clients.list,apps.list')), LIMIT - 3);
  assert.is(remainingOf(await call('sites.list%2Cclients.list')), LIMIT - 5);
  const twice = await call('sites.list%252Cclients.list');
  assert.equal([twice.statusCode, remainingOf(twice)], [404, LIMIT - 6]);
  const headers = { 'accept-encoding': 'gzip' };
  assert.is((await app.send('GET !/trpc/%E0,%', { as: ACME, headers })).statusCode, 400);
  const tooMany = await call(
    Array(LIMIT + 1)
      .fill('sites.list')
      .join(),
  );
  assert.equal([tooMany.statusCode, remainingOf(tooMany)], [429, LIMIT - 7]);
  assert.match(tooMany.body, 'Send fewer calls at once');
  const many = await call(Array(LIMIT).fill('sites.list').join());
  assert.equal([many.statusCode, remainingOf(many)], [429, 0]);
});

limited('fails in the error format of tRPC', async ({ app }) => {
  await useUp(app, ROOT);
  await app.server.listen({ port: 0, host: '127.0.0.1' });
  const url = `${app.server.listeningOrigin}/trpc`;
  const headers = { authorization: `Token ${await app.tokenOf(ROOT)}` };
  for (const link of [httpBatchLink, httpBatchStreamLink]) {
    const client = createTRPCClient<AppRouter>({ links: [link({ url, transformer, headers })] });
    const outcomes = await Promise.allSettled([client.sites.list.query({}), client.users.list.query({})]);
    for (const outcome of outcomes) {
      const error: unknown = outcome.status === 'rejected' && outcome.reason;
      assert.instance(error, TRPCClientError);
      const { data } = error as TRPCClientError<AppRouter>; // its client is this router's
      assert.is(data?.httpStatus, 429);
      assert.is(data?.problem.code, 'rate-limited');
      assert.ok(Number(data?.problem.retryAfterSeconds) >= 1);
    }
  }
});

limited('shows browsers a page', async ({ app }) => {
  const headers = { ...from('192.0.2.5'), accept: 'text/html' };
  for (let n = 0; n < LIMIT; n += 1) await app.send('GET !/login/', { headers });
  const page = await app.send('GET !/login/', { headers });

  assert.is(page.statusCode, 429);
  assert.ok(Number(page.headers['retry-after']) >= 1);
  assert.match(String(page.headers['content-type']), 'text/html');
  assert.match(page.body, 'Wait a minute, then try again');
});

limited.run();
