import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { ADA, appSuite, ROOT, startTestApp } from '../support/test-app.ts';

const OF_DATA = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const security = appSuite('security headers');

const picked = (headers: Record<string, unknown>) =>
  Object.fromEntries(Object.keys(OF_DATA).map((name) => [name, headers[name]]));

security('are set on every response, including failures', async ({ app }) => {
  const long = 'x'.repeat(2_000);
  const lines: [string, number][] = [
    ['GET /jb/sites/', 200],
    ['HEAD /jb/sites/', 200],
    ['OPTIONS /jb/sites/', 204],
    ['GET /nowhere/', 404],
    ['DELETE /jb/sites/', 405],
    ['GET /jb/users/%E0/', 400],
    [`GET /jb/users/${long}/`, 414],
    ['GET !/healthz', 200],
    ['GET !/trpc/sites.list?input={"json":{}}', 200],
    ['GET !/trpc/no.such', 404],
    ['PUT !/trpc/sites.list', 405],
  ];
  for (const [line, status] of lines) {
    const response = await app.send(line, { as: ADA });
    assert.is(response.statusCode, status, line);
    assert.equal(picked(response.headers), OF_DATA, line);
  }
});

security('are set on responses to oversized requests and invalid HTTP', async ({ app }) => {
  const large = await app.send('POST /api-token-auth/', { payload: { username: 'x'.repeat(1_100_000) } });
  assert.equal([large.statusCode, picked(large.headers)], [413, OF_DATA]);

  await app.server.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect(Number(new URL(app.server.listeningOrigin).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`);
  const answer = await text(socket);
  assert.match(answer, /^HTTP\/1\.1 431 /);
  for (const [name, value] of Object.entries(OF_DATA))
    assert.ok(answer.includes(`\r\n${name}: ${value}\r\n`), answer);
});

security('are set on unexpected failures', async ({ app }) => {
  await app.db().schema.alterTable('sites').renameTo('gone').execute();
  const response = await app.send('GET /jb/sites/', { as: ROOT });
  await app.db().schema.alterTable('gone').renameTo('sites').execute();

  assert.equal([response.statusCode, picked(response.headers)], [500, OF_DATA]);
});

security('differ for pages', async ({ app }) => {
  const headers = { accept: 'text/html' };
  for (const path of ['/login/', '/nowhere/']) {
    const page = await app.send(`GET !${path}`, { headers });
    assert.match(String(page.headers['content-security-policy']), "form-action 'self'", path);
    assert.is(page.headers['referrer-policy'], 'strict-origin', path);
    assert.is(page.headers['x-frame-options'], 'DENY', path);
  }
});

security('allow other sites to embed avatars', async ({ app }) => {
  const avatar = await app.send('GET !/avatars/a.svg');

  assert.is(avatar.headers['cross-origin-resource-policy'], 'cross-origin');
});

security('include HSTS if the base URL is https', async ({ app }) => {
  const plain = await app.send('GET !/healthz');
  const secured = await startTestApp({ BASE_URL: 'https://steward.test' });
  const answer = await secured.send('GET !/healthz').finally(() => secured.close());

  assert.is(plain.headers['strict-transport-security'], undefined);
  assert.is(answer.headers['strict-transport-security'], 'max-age=31536000');
});

security.run();
