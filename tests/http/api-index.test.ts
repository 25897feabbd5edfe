import * as assert from 'uvu/assert';
import { appSuite, ROOT } from '../support/test-app.ts';

const index = appSuite('GET /api/v1/');

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

index('lists URLs that all respond with 200', async ({ app }) => {
  const response = await app.send('GET /');
  const addresses = response.json();

  assert.is(response.statusCode, 200);
  assert.is(addresses['users/invitations'], 'http://localhost:8000/api/v1/jb/users/invitations/');
  assert.is(addresses.openapi, 'http://localhost:8000/api/v1/openapi.json');
  const statuses: Record<string, number> = {};
  for (const [name, address] of Object.entries<string>(addresses)) {
    const { statusCode } = await app.send(`GET !${new URL(address).pathname}`, { as: ROOT });
    if (statusCode >= 300) statuses[name] = statusCode;
  }
  // One needs a user or an app, which its schema cannot express, the other the cookie of a login.
  assert.equal(statuses, { 'usage/series': 400, 'session/enrol': 400 });
});

index('shows browsers a page with the same URLs as links', async ({ app }) => {
  const response = await app.send('GET /', { headers: BROWSER });

  assert.is(response.statusCode, 200);
  assert.match(String(response.headers['content-type']), 'text/html');
  assert.match(response.body, 'href="/api/v1/jb/users/"');
  assert.match(response.body, 'href="/docs/"');
});

index('is linked from the pages of its endpoints', async ({ app }) => {
  const response = await app.send('GET /jb/sites/', { as: ROOT, headers: BROWSER });

  assert.match(response.body, '<a href="/api/v1/">v1</a>');
});

index('answers other methods with 405 and Allow', async ({ app }) => {
  const response = await app.send('POST /', { as: ROOT, payload: {} });

  assert.is(response.statusCode, 405);
  assert.is(response.headers.allow, 'GET, HEAD, OPTIONS');
  assert.is(response.json().detail, 'This path only supports GET, HEAD, OPTIONS.');
});

index('leaves /favicon.ico as an image', async ({ app }) => {
  const response = await app.send('GET !/favicon.ico');

  assert.is(response.statusCode, 200);
  assert.is(response.headers['content-type'], 'image/svg+xml; charset=utf-8');
  assert.match(response.body, '<svg');
});

index.run();
