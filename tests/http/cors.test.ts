import * as assert from 'uvu/assert';
import { ADA, appSuite, DEMO_PASSWORD, type TestApp } from '../support/test-app.ts';

const SITE = 'https://app.example.com';
const cors = appSuite('CORS', { CORS_ORIGINS: `${SITE},http://localhost:5173` });

const preflight = (app: TestApp, path: string, origin = SITE, method = 'PATCH') =>
  app.send(`OPTIONS ${path}`, {
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type',
    },
  });

const corsHeaders = (headers: Record<string, unknown>) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

const words = (header: unknown): string[] =>
  String(header)
    .split(',')
    .map((word) => word.trim().toLowerCase());

cors('answers preflights over REST and tRPC', async ({ app }) => {
  for (const path of ['/jb/users/ada@acme.test/', '/api-token-auth/', '!/trpc/users.update', '/nowhere/']) {
    const { statusCode, headers, body } = await preflight(app, path);

    assert.ok(statusCode === 204 || statusCode === 200, path);
    assert.is(body, '', path);
    assert.is(headers['access-control-allow-origin'], SITE, path);
    assert.ok(words(headers['access-control-allow-methods']).includes('patch'), path);
    for (const name of ['authorization', 'trpc-accept'])
      assert.ok(words(headers['access-control-allow-headers']).includes(name), path);
    assert.is(headers['access-control-allow-credentials'], undefined, path);
    assert.ok(words(headers.vary).includes('origin'), path);
  }
});

cors('exposes every kind of response to an allowed origin', async ({ app }) => {
  const lines: [string, number][] = [
    ['GET /jb/sites/', 200],
    ['HEAD /jb/sites/', 200],
    ['GET /jb/users/', 403],
    ['GET /nowhere/', 404],
    ['DELETE /jb/sites/', 405],
    ['GET /jb/users/%E0/', 400],
    ['GET !/trpc/sites.list?input={"json":{}}', 200],
    ['GET !/trpc/users.list?input={"json":{}}', 403],
    ['PUT !/trpc/sites.list', 405],
  ];
  for (const [line, status] of lines) {
    const { statusCode, headers } = await app.send(line, { as: ADA, headers: { origin: SITE } });

    assert.is(statusCode, status, line);
    assert.is(headers['access-control-allow-origin'], SITE, line);
    assert.is(headers['access-control-allow-credentials'], undefined, line);
    assert.ok(words(headers.vary).includes('accept'), line);
    assert.ok(words(headers.vary).includes('origin'), line);
  }
});

cors('exposes the headers of the API', async ({ app }) => {
  const { headers } = await app.send('GET /jb/sites/', { as: ADA, headers: { origin: SITE } });
  const shown = words(headers['access-control-expose-headers']);

  for (const name of ['x-request-id', 'etag', 'location', 'link', 'x-count', 'x-next', 'retry-after'])
    assert.ok(shown.includes(name), name);
});

cors('allows a login for a token, but not for a session', async ({ app }) => {
  const payload = { username: ADA, password: DEMO_PASSWORD };
  const headers = { origin: SITE, 'sec-fetch-site': 'cross-site' };
  const token = await app.send('POST /api-token-auth/', { payload, headers });
  const session = await app.send('POST /session/', { payload, headers });

  assert.is(token.statusCode, 200);
  assert.is(token.headers['access-control-allow-origin'], SITE);
  assert.is(session.json().type, 'urn:steward:problem:cross-site');
});

cors('sets no headers for other origins', async ({ app }) => {
  for (const origin of ['https://evil.test', 'null', 'https://app.example.com.evil.test', `${SITE}/`, '']) {
    const asked = await preflight(app, '/jb/sites/', origin);
    const answered = await app.send('GET /jb/sites/', { as: ADA, headers: { origin } });

    assert.equal(corsHeaders(asked.headers), [], origin);
    assert.equal(corsHeaders(answered.headers), [], origin);
    assert.is(answered.statusCode, 200);
    assert.ok(words(answered.headers.vary).includes('origin'), origin);
  }
});

cors('answers OPTIONS without an Origin with Allow', async ({ app }) => {
  const { statusCode, headers } = await app.send('OPTIONS /jb/sites/');
  const asked = await preflight(app, '/jb/sites/');

  assert.equal([statusCode, headers.allow], [204, 'GET, HEAD, POST, OPTIONS']);
  assert.equal([corsHeaders(headers), asked.headers.allow], [[], headers.allow]);
  assert.is((await app.send('OPTIONS /nowhere/')).statusCode, 404);
});

cors.run();
