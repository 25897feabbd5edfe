import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { gunzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, DEMO_PASSWORD, ROOT, type TestApp } from '../support/test-app.ts';

const browsable = appSuite('pages about the API');

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

browsable('shows the response and the call for tRPC', async ({ app }) => {
  const page = await openPage(app, 'GET /jb/users/ada@acme.test/', ADA);

  assert.is(page.status, 200);
  assert.match(page.text, '200 OK');
  assert.match(page.text, '&quot;first_name&quot;: &quot;Ada&quot;');
  assert.match(page.text, 'client.users.get.query({ email: &#39;ada@acme.test&#39; })');
  assert.match(page.body, '<a href="/api/v1/jb/apps/zylTKNVx/">');
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

browsable('shows the call of a path without GET', async ({ app }) => {
  const page = await openPage(app, 'GET /app/fetch/sales/', ROOT);

  assert.is(page.status, 405);
  assert.is(page.headers.allow, 'POST, OPTIONS');
  assert.match(page.text, 'client.appPackages.fetch.mutate(');
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

const MAX_PAGE_BYTES = 2_000_000;

const CHARACTERS: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };

const unescaped = (text: string): string =>
  text.replaceAll(/&(lt|gt|quot|#39|amp);/g, (_entity, name: string) => CHARACTERS[name] ?? '');

const openCall = async (app: TestApp, line: string, as: string) => {
  const page = await openPage(app, line, as);
  const [, call = ''] = /<p class="call">tRPC: <code>(.*?)<\/code>/s.exec(page.body) ?? [];
  return { ...page, call: unescaped(call) };
};

/** Runs the call and returns the input that the client would send. */
const runCall = (call: string): unknown => {
  let input: unknown;
  const client = {
    users: { get: { query: (given: unknown) => (input = given) } },
    audit: { list: { query: (given: unknown) => (input = given) } },
  };
  runInNewContext(call, { client, Date });
  return input;
};

browsable('hostile data: escapes HTML and invisible characters in values', async ({ app }) => {
  const nasty = '</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\u202e';
  await app.as(ACME).users.update({ email: ADA, first_name: nasty, extra: { [nasty]: nasty } });
  const { body } = await openPage(app, 'GET /jb/users/ada@acme.test/', ACME);

  assert.not.match(body, /<script|<img src=x|\u202e/);
  assert.match(body, 'alert(1)&lt;/script&gt;');
  assert.match(body, '\\u202e');
});

browsable('hostile data: escapes the URL in HTML and in the call', async ({ app }) => {
  const path = "/jb/users/it's$(id);%3Cb%3E%22@acme.test/";
  const { body, status, call } = await openCall(app, `GET ${path}`, ACME);

  assert.is(status, 404);
  assert.not.match(body, /<b>/);
  assert.is(JSON.stringify(runCall(call)), JSON.stringify({ email: `it's$(id);<b>"@acme.test` }));
});

browsable('hostile data: writes numbers, dates and strings as TypeScript literals', async ({ app }) => {
  const query = 'actor=%E2%80%AE%27&from=2026-01-01&limit=5';
  const { call } = await openCall(app, `GET /jb/audit/?${query}&unknown=1`, ROOT);

  assert.is(
    JSON.stringify(runCall(call)),
    JSON.stringify({ actor: "\u202e'", from: new Date('2026-01-01'), limit: 5 }),
  );
});

browsable('hostile data: shows the first 100 items of lists and streams with a note', async ({ app }) => {
  const items = [...Array(101)].map((_, index) => ({ email: `guest${index}@acme.test`, client: 1 }));
  await app.as(ACME).invitations.create({ items });
  for (const [line, key, note] of [
    ['GET /jb/users/invitations/', 'date_invited', '1–100 of 101'],
    ['GET /jb/users/invitations/?page_size=101', 'date_invited', '1–100 of 101'],
    ['GET /jb/users/invitations/?limit=101', 'date_invited', 'Only the first 100 items are shown.'],
    ['GET /jb/apps/zylTKNVx/usage/?window=120', 'action_description', '1–100 of '],
    ['GET /jb/apps/zylTKNVx/usage/?window=120&page_size=10000', 'action_description', '1–100 of '],
  ] as const) {
    const { body } = await openPage(app, line, ACME);
    assert.is(body.split(`&quot;${key}&quot;`).length - 1, 100, line);
    assert.match(body, note, line);
  }
  const { body } = await openPage(app, 'GET /jb/users/invitations/?status=all', ACME);
  assert.match(
    body,
    '<a href="/api/v1/jb/users/invitations/?status=all&amp;page=2&amp;page_size=100">Next page</a>',
  );
  assert.match(
    (await openPage(app, 'GET /jb/users/invitations/?page=3', ACME)).body,
    'Page 3 is empty: the list has 101 items.',
  );
});

browsable('hostile data: truncates large responses and keeps the page small', async ({ app }) => {
  const extra = {
    deep: JSON.parse(`${'['.repeat(490)}1${']'.repeat(490)}`),
    wide: [...Array(20_000)].map(() => 0),
  };
  await app.as(ACME).users.update({ email: ADA, extra });
  const { body, status } = await openPage(app, 'GET /jb/users/ada@acme.test/', ACME);

  assert.is(status, 200);
  assert.match(body, 'This response is too long for this page.');
  assert.ok(body.length < MAX_PAGE_BYTES, `${body.length}`);
});

browsable('index: lists URLs that all respond with 200', async ({ app }) => {
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
  assert.equal(statuses, { 'session/enrol': 400 });
});

browsable('index: shows browsers a page with the same URLs as links', async ({ app }) => {
  const response = await app.send('GET /', { headers: { accept: BROWSER } });

  assert.is(response.statusCode, 200);
  assert.match(String(response.headers['content-type']), 'text/html');
  assert.match(response.body, 'href="/api/v1/jb/users/"');
  assert.match(response.body, 'href="/docs/"');
});

browsable('index: answers other methods with 405 and Allow', async ({ app }) => {
  const response = await app.send('POST /', { as: ROOT, payload: {} });

  assert.is(response.statusCode, 405);
  assert.is(response.headers.allow, 'GET, HEAD, OPTIONS');
  assert.is(response.json().detail, 'This path only supports GET, HEAD, OPTIONS.');
});

const scriptsOf = async (app: TestApp): Promise<string[]> => {
  const { body } = await app.send('GET !/docs/');
  return [...body.matchAll(/<script src="([^"]+)"><\/script>/g)].map(([, path = '']) => path);
};

browsable('reference: loads nothing from other hosts', async ({ app }) => {
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

browsable('reference: serves its scripts compressed and immutable', async ({ app }) => {
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

browsable('reference: serves no other files and rejects other methods', async ({ app }) => {
  const [path] = await scriptsOf(app);
  const statusOf = async (line: string) => (await app.send(line)).statusCode;

  assert.is(await statusOf('GET !/docs/start.js'), 404);
  assert.is(await statusOf('GET !/docs/..%2Fserve-reference.ts'), 404);
  assert.is(await statusOf('POST !/docs/'), 405);
  assert.is(await statusOf(`DELETE !${path}`), 405);
  assert.is(await statusOf(`HEAD !${path}`), 200);
});

const SESSION = { cookie: 'steward_session=any' };

const ASSETS = join(import.meta.dirname, '../../console/dist/assets');

browsable(
  'console: sends a browser without a session to the login page, which leads back',
  async ({ app }) => {
    const response = await app.send('GET !/console/people?search=ada');

    assert.is(response.statusCode, 303);
    assert.is(response.headers.location, '/login/?next=%2Fconsole%2Fpeople%3Fsearch%3Dada');
  },
);

browsable('console: serves every screen from the same document, without inline scripts', async ({ app }) => {
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

browsable('console: serves assets compressed and immutable, and no others', async ({ app }) => {
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
  browsable(`serves no file outside of the assets: ${path}`, async ({ app }) => {
    const response = await app.send(`GET !${path}`);
    assert.is.not(response.statusCode, 200);
  });

browsable('console: refuses to change anything', async ({ app }) => {
  const response = await app.send('POST !/console/people', { headers: SESSION });

  assert.is(response.statusCode, 405);
  assert.is(response.headers.allow, 'GET, HEAD, OPTIONS');
});

browsable.run();
