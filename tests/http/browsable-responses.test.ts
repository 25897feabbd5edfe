import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, DEMO_PASSWORD, ROOT, type TestApp } from '../support/test-app.ts';

const browsable = appSuite('browsable API');

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const openPage = async (app: TestApp, line: string, as?: string, headers: Record<string, string> = {}) => {
  const response = await app.send(line, { ...(as && { as }), headers: { accept: BROWSER, ...headers } });
  const { body, statusCode: status, headers: received } = response;
  return { body, status, headers: received, text: body.replaceAll(/<style>.*<\/style>|<[^>]*>/gs, '') };
};

browsable('serves HTML only to clients that prefer it', async ({ app }) => {
  const typeFor = async (line: string, accept?: string) =>
    (await app.send(line, { as: ROOT, headers: { accept } })).headers['content-type'];

  for (const accept of [BROWSER, 'text/html', 'text/html;q=0.9, application/json;q=0.8']) {
    assert.is(await typeFor('GET /jb/sites/', accept), 'text/html; charset=utf-8', accept);
  }
  for (const accept of [
    undefined,
    '*/*',
    'application/*',
    'application/json',
    'text/html;q=0.5, application/json',
  ]) {
    assert.is(await typeFor('GET /jb/sites/', accept), 'application/json; charset=utf-8', accept);
  }
  assert.is(await typeFor('GET /jb/apps/', 'text/csv, text/html;q=0.9'), 'text/csv; charset=utf-8');
  assert.is(await typeFor('GET /jb/env/', '*/*'), 'text/json; charset=utf-8');
  assert.is(await typeFor('GET /jb/env/', BROWSER), 'text/html; charset=utf-8');
});

browsable('shows the response and code samples for tRPC and curl', async ({ app }) => {
  const page = await openPage(app, 'GET /jb/users/ada@acme.test/', ADA);

  assert.is(page.status, 200);
  assert.match(page.text, '200 OK');
  assert.match(page.text, '&quot;first_name&quot;: &quot;Ada&quot;');
  assert.match(page.text, 'client.users.get.query(');
  assert.match(page.text, 'email: &#39;ada@acme.test&#39;');
  assert.match(page.text, '&#39;http://localhost:80/api/v1/jb/users/ada@acme.test/&#39;');
  assert.match(page.body, '<a href="/api/v1/jb/apps/zylTKNVx/">');
  assert.match(page.body, '<a href="/api/v1/jb/users/">users</a>');
});

browsable('allows no scripts, external resources or caching', async ({ app }) => {
  const { headers, body } = await openPage(app, 'GET /jb/users/', ACME);

  assert.match(String(headers['content-security-policy']), "default-src 'none'; style-src 'sha256-");
  assert.is(headers['cache-control'], 'no-store');
  assert.match(String(headers.vary), 'Accept');
  assert.not.match(body, /<script|style="/);
});

browsable('links to the login page without credentials, and back', async ({ app }) => {
  const page = await openPage(app, 'GET /jb/users/?app=sales');

  assert.is(page.status, 401);
  assert.is(page.headers['www-authenticate'], 'Token');
  assert.match(page.body, 'href="/login/?next=%2Fapi%2Fv1%2Fjb%2Fusers%2F%3Fapp%3Dsales"');
});

browsable('shows problems with their status', async ({ app }) => {
  for (const [line, status, phrase] of [
    ['GET /jb/users/unknown@acme.test/', 404, 'No such user.'],
    ['GET /jb/apps/zylTKNVx/usage/?window=x', 400, '&quot;window&quot;: ['],
    ['GET /jb/nowhere/', 404, 'No such path.'],
    ['DELETE /jb/sites/', 405, '&quot;status&quot;: 405'],
  ] as const) {
    const page = await openPage(app, line, ACME);
    assert.is(page.status, status, line);
    assert.is(page.headers['content-type'], 'text/html; charset=utf-8', line);
    assert.match(page.text, phrase, line);
    assert.match(page.text, 'application/problem+json', line);
  }
});

browsable('lists the methods and fields of a path without GET', async ({ app }) => {
  const page = await openPage(app, 'GET /app/fetch/sales/', ROOT);

  assert.is(page.status, 405);
  assert.is(page.headers.allow, 'POST, OPTIONS');
  assert.match(page.text, 'client.appPackages.fetch.mutate(');
  assert.match(page.body, '<code>app_version</code>');
});

browsable('runs a POST and does not repeat the password', async ({ app }) => {
  const payload = { username: ADA, password: DEMO_PASSWORD };
  const response = await app.send('POST /session/', { payload, headers: { accept: BROWSER } });

  assert.is(response.statusCode, 200);
  assert.match(response.body, /&quot;csrf_token&quot;<\/span>: <span class="string">&quot;[0-9a-f]{32}/);
  assert.not.match(response.body, DEMO_PASSWORD);
});

browsable('has no page for 204', async ({ app }) => {
  await app.as(ADA).savedFilters.create({ stack_id: 'a0a91e46', hash: 'gone', name: 'Gone' });
  const page = await openPage(app, 'DELETE /hashr/saved_global_filters/gone/', ADA);

  assert.is(page.status, 204);
  assert.is(page.body, '');
});

browsable('sends HEAD the headers of the page without a body', async ({ app }) => {
  const head = await openPage(app, 'HEAD /jb/sites/', ADA);

  assert.is(head.status, 200);
  assert.is(head.headers['content-type'], 'text/html; charset=utf-8');
  assert.is(head.body, '');
});

browsable.run();
