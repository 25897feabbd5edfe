import { gunzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { appSuite, type TestApp } from '../support/test-app.ts';

const reference = appSuite('API reference');

const scriptsOf = async (app: TestApp): Promise<string[]> => {
  const { body } = await app.send('GET !/docs/');
  return [...body.matchAll(/<script src="([^"]+)"><\/script>/g)].map(([, path = '']) => path);
};

reference('loads nothing from other hosts', async ({ app }) => {
  const { statusCode, headers, body } = await app.send('GET !/docs/');
  const policy = String(headers['content-security-policy']);

  assert.is(statusCode, 200);
  assert.is(headers['content-type'], 'text/html; charset=utf-8');
  assert.match(policy, "default-src 'none'; ");
  assert.match(policy, "; script-src 'self'; ");
  assert.match(policy, "connect-src 'self'");
  assert.not.match(policy, /unsafe-eval|https?:|\*/);
  assert.not.match(body, /(src|href)="(https?:)?\/\//);
  assert.not.match(body, /<script>/);
});

reference('serves its scripts compressed and immutable', async ({ app }) => {
  const paths = await scriptsOf(app);
  assert.is(paths.length, 2);
  for (const path of paths) {
    const compressed = await app.send(`GET !${path}`, { headers: { 'accept-encoding': 'gzip, br' } });
    const plain = await app.send(`GET !${path}`, { headers: { 'accept-encoding': 'identity' } });

    assert.is(compressed.headers['content-encoding'], 'gzip');
    assert.is(plain.headers['content-encoding'], undefined);
    assert.ok(gunzipSync(compressed.rawPayload).equals(plain.rawPayload), path);
    assert.is(plain.headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.is(plain.headers.vary, 'accept-encoding');
    assert.is(plain.headers['content-type'], 'text/javascript; charset=utf-8');
  }
});

reference('serves no other files and rejects other methods', async ({ app }) => {
  const [path] = await scriptsOf(app);
  const statusOf = async (line: string) => (await app.send(line)).statusCode;

  assert.is(await statusOf('GET !/docs/start.js'), 404);
  assert.is(await statusOf('GET !/docs/..%2Fserve-reference.ts'), 404);
  assert.is(await statusOf('POST !/docs/'), 405);
  assert.is(await statusOf(`DELETE !${path}`), 405);
  assert.is(await statusOf(`HEAD !${path}`), 200);
});

reference.run();
