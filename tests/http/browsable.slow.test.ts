import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { gunzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, ROOT, type TestApp } from '../support/test-app.ts';

const browsable = appSuite('pages about the API');
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const openPage = async (app: TestApp, line: string, as?: string, headers: Record<string, string> = {}) => {
  const response = await app.send(line, { ...(as && { as }), headers: { accept: BROWSER, ...headers } });
  const { body, statusCode: status, headers: received } = response;
  return { body, status, headers: received, text: body.replaceAll(/<style>.*<\/style>|<[^>]*>/gs, '') };
};

browsable('shows the response and the call for tRPC, without scripts', async ({ app }) => {
  const { status, text, body, headers } = await openPage(app, 'GET /jb/users/ada@acme.test/', ADA);

  assert.is(status, 200);
  assert.match(text, '200 OK');
  assert.match(text, '&quot;first_name&quot;: &quot;Ada&quot;');
  assert.match(text, 'client.users.get.query({ email: &#39;ada@acme.test&#39; })');
  assert.match(body, '<a href="/api/v1/jb/apps/zylTKNVx/">');
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
    ['GET /app/fetch/sales/', 405, 'client.appPackages.fetch.mutate('],
  ] as const) {
    const page = await openPage(app, line, ACME);
    assert.is(page.status, status, line);
    assert.is(page.headers['content-type'], 'text/html; charset=utf-8', line);
    assert.match(page.text, phrase, line);
    assert.match(page.text, 'application/problem+json', line);
  }
});

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

  const input = { actor: "\u202e'", from: new Date('2026-01-01'), limit: 5 };
  assert.is(JSON.stringify(runCall(call)), JSON.stringify(input));
});

browsable('hostile data: shows the first 100 items of lists and streams with a note', async ({ app }) => {
  const items = [...Array(101)].map((_, index) => ({ email: `guest${index}@acme.test`, client: 1 }));
  await app.as(ACME).invitations.create({ items });
  const [invitations, usage] = ['GET /jb/users/invitations/', 'GET /jb/apps/zylTKNVx/usage/?window=120'];
  for (const [line, key, note] of [
    [invitations, 'date_invited', '1–100 of 101'],
    [`${invitations}?page_size=101`, 'date_invited', '1–100 of 101'],
    [`${invitations}?limit=101`, 'date_invited', 'Only the first 100 items are shown.'],
    [usage, 'action_description', '1–100 of '],
    [`${usage}&page_size=10000`, 'action_description', '1–100 of '],
  ] as const) {
    const { body } = await openPage(app, line, ACME);
    assert.is(body.split(`&quot;${key}&quot;`).length - 1, 100, line);
    assert.match(body, note, line);
  }
  const { body } = await openPage(app, `${invitations}?status=all`, ACME);
  const next = '/api/v1/jb/users/invitations/?status=all&amp;page=2&amp;page_size=100';
  assert.match(body, `<a href="${next}">Next page</a>`);
  const past = await openPage(app, `${invitations}?page=3`, ACME);
  assert.match(past.body, 'Page 3 is empty: the list has 101 items.');
});

browsable('index: lists URLs that all respond with 200, to browsers as a page', async ({ app }) => {
  const addresses = (await app.send('GET /')).json();

  assert.is(addresses['users/invitations'], 'http://localhost:8000/api/v1/jb/users/invitations/');
  assert.is(addresses.openapi, 'http://localhost:8000/api/v1/openapi.json');
  const failed: string[] = [];
  for (const [name, address] of Object.entries<string>(addresses)) {
    const { statusCode } = await app.send(`GET !${new URL(address).pathname}`, { as: ROOT });
    if (statusCode >= 300) failed.push(name);
  }
  // It needs the cookie of a login.
  assert.equal(failed, ['session/enrol']);
  const page = await openPage(app, 'GET /');
  assert.equal([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8']);
  for (const path of ['/api/v1/jb/users/', '/docs/']) assert.match(page.body, `href="${path}"`);
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

  const refused = ['GET !/docs/start.js', 'GET !/docs/..%2Fserve-reference.ts'];
  for (const line of refused) assert.is(await statusOf(line), 404, line);
  for (const line of ['POST !/docs/', `DELETE !${path}`]) assert.is(await statusOf(line), 405, line);
  assert.is(await statusOf(`HEAD !${path}`), 200);
});

const SESSION = { cookie: 'steward_session=any' };
const ASSETS = join(import.meta.dirname, '../../console/dist/assets');

browsable('console: sends a browser without a session to the login page, and back', async ({ app }) => {
  const response = await app.send('GET !/console/people?search=ada');

  assert.is(response.statusCode, 303);
  assert.is(response.headers.location, '/login/?next=%2Fconsole%2Fpeople%3Fsearch%3Dada');
  const posted = await app.send('POST !/console/people', { headers: SESSION });
  assert.equal([posted.statusCode, posted.headers.allow], [405, 'GET, HEAD, OPTIONS']);
});

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

browsable.run();
