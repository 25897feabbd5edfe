import * as assert from 'uvu/assert';
import { appSuite } from '../support/app-suite.ts';
import { ACME, ADA, DEMO_PASSWORD, ROOT, type TestApp } from '../support/test-app.ts';

const answers = appSuite('browsable answers');

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const open = async (app: TestApp, line: string, as?: string, headers: Record<string, string> = {}) => {
  const response = await app.send(line, { ...(as && { as }), headers: { accept: BROWSER, ...headers } });
  const { body, statusCode: status, headers: received } = response;
  return { body, status, headers: received, text: body.replaceAll(/<style>.*<\/style>|<[^>]*>/gs, '') };
};

answers('are pages for whoever prefers HTML, and JSON for everybody else', async ({ app }) => {
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

answers('show the answer, and the same call for tRPC and for a shell', async ({ app }) => {
  const page = await open(app, 'GET /jb/users/ada@acme.test/', ADA);

  assert.is(page.status, 200);
  assert.match(page.text, '200 OK');
  assert.match(page.text, '&quot;first_name&quot;: &quot;Ada&quot;');
  assert.match(page.text, 'client.users.get.query(');
  assert.match(page.text, 'email: &#39;ada@acme.test&#39;');
  assert.match(page.text, '&#39;http://localhost:80/api/v1/jb/users/ada@acme.test/&#39;');
  assert.match(page.body, '<a href="/api/v1/jb/apps/zylTKNVx/">');
  assert.match(page.body, '<a href="/api/v1/jb/users/">users</a>');
});

answers('are as private as JSON, and run and load nothing', async ({ app }) => {
  const { headers, body } = await open(app, 'GET /jb/users/', ACME);

  assert.match(String(headers['content-security-policy']), "default-src 'none'; style-src 'sha256-");
  assert.is(headers['cache-control'], 'no-store');
  assert.match(String(headers.vary), 'Accept');
  assert.not.match(body, /<script|style="/);
});

answers('lead whoever is not logged in to the login, and back', async ({ app }) => {
  const page = await open(app, 'GET /jb/users/?app=sales');

  assert.is(page.status, 401);
  assert.is(page.headers['www-authenticate'], 'Token');
  assert.match(page.body, 'href="/login/?next=%2Fapi%2Fv1%2Fjb%2Fusers%2F%3Fapp%3Dsales"');
});

answers('show failures the same way, with their own status', async ({ app }) => {
  for (const [line, status, words] of [
    ['GET /jb/users/nobody@acme.test/', 404, 'No such user.'],
    ['GET /jb/apps/zylTKNVx/usage/?window=x', 400, '&quot;window&quot;: ['],
    ['GET /jb/nowhere/', 404, 'No such path.'],
    ['DELETE /jb/sites/', 405, '&quot;status&quot;: 405'],
  ] as const) {
    const page = await open(app, line, ACME);
    assert.is(page.status, status, line);
    assert.is(page.headers['content-type'], 'text/html; charset=utf-8', line);
    assert.match(page.text, words, line);
    assert.match(page.text, 'application/problem+json', line);
  }
});

answers('say what a path takes that cannot be opened', async ({ app }) => {
  const page = await open(app, 'GET /app/fetch/sales/', ROOT);

  assert.is(page.status, 405);
  assert.is(page.headers.allow, 'POST, OPTIONS');
  assert.match(page.text, 'client.appPackages.fetch.mutate(');
  assert.match(page.body, '<code>app_version</code>');
});

answers('do what a form-less POST asks for, and never tell a password again', async ({ app }) => {
  const payload = { username: ADA, password: DEMO_PASSWORD };
  const response = await app.send('POST /session/', { payload, headers: { accept: BROWSER } });

  assert.is(response.statusCode, 200);
  assert.match(response.body, /&quot;csrf_token&quot;<\/span>: <span class="text">&quot;[0-9a-f]{32}/);
  assert.not.match(response.body, DEMO_PASSWORD);
});

answers('have no page where there is nothing to show', async ({ app }) => {
  await app.as(ADA).savedFilters.create({ stack_id: 'a0a91e46', hash: 'gone', name: 'Gone' });
  const page = await open(app, 'DELETE /hashr/saved_global_filters/gone/', ADA);

  assert.is(page.status, 204);
  assert.is(page.body, '');
});

answers('tell HEAD the same as GET, without the page', async ({ app }) => {
  const head = await open(app, 'HEAD /jb/sites/', ADA);

  assert.is(head.status, 200);
  assert.is(head.headers['content-type'], 'text/html; charset=utf-8');
  assert.is(head.body, '');
});

answers.run();
