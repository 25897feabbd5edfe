import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { appSuite } from '../support/test-app.ts';

const serving = appSuite('console over HTTP');

const SESSION = { cookie: 'steward_session=any' };
const ASSETS = join(import.meta.dirname, '../../console/dist/assets');

serving('sends a browser without a session to the login page, which leads back', async ({ app }) => {
  const response = await app.send('GET !/console/people?search=ada');

  assert.is(response.statusCode, 303);
  assert.is(response.headers.location, '/login/?next=%2Fconsole%2Fpeople%3Fsearch%3Dada');
});

serving('serves every screen from the same document, without inline scripts', async ({ app }) => {
  for (const path of ['/console', '/console/', '/console/people/ada@acme.test']) {
    const response = await app.send(`GET !${path}`, { headers: SESSION });

    const policy = String(response.headers['content-security-policy']);
    assert.is(response.statusCode, 200, path);
    assert.match(String(response.headers['content-type']), /^text\/html/);
    assert.is(response.headers['cache-control'], 'no-cache');
    assert.match(policy, /script-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.not.match(response.body, /<script(?![^>]*src=)/);
  }
});

serving('serves assets compressed and immutable, and no others', async ({ app }) => {
  const [script] = (await readdir(ASSETS)).filter((file) => file.endsWith('.js'));
  const headers = { 'accept-encoding': 'br' };
  const found = await app.send(`GET !/console/assets/${script}`, { headers });
  const missing = await app.send('GET !/console/assets/gone-12345678.js', { headers: SESSION });

  assert.is(found.statusCode, 200);
  assert.is(found.headers['content-encoding'], 'br');
  assert.is(found.headers['cache-control'], 'public, max-age=31536000, immutable');
  assert.match(String(found.headers['content-type']), /javascript/);
  assert.is(missing.statusCode, 404);
  assert.not.match(String(missing.headers['cache-control']), /immutable/);
});

for (const path of ['/console/assets/../index.html', '/console/assets/%2e%2e/%2e%2e/package.json'])
  serving(`serves no file outside of the assets: ${path}`, async ({ app }) => {
    const response = await app.send(`GET !${path}`);
    assert.is.not(response.statusCode, 200);
  });

serving('refuses to change anything', async ({ app }) => {
  const response = await app.send('POST !/console/people', { headers: SESSION });

  assert.is(response.statusCode, 405);
  assert.is(response.headers.allow, 'GET, HEAD, OPTIONS');
});

serving.run();
