import fc from 'fast-check';
import * as assert from 'uvu/assert';
import {
  etagOf,
  matchesStrongly,
  matchesWeakly,
  parseEtags,
} from '../../src/http/middleware/conditional-requests.ts';
import { ACME, ADA, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { cpuMs } from '../support/time.ts';
import { SALES } from '../support/usage.ts';

const etags = appSuite('ETag and If-None-Match');

const get = (app: TestApp, path: string, as: string, headers = {}) =>
  app.send(`GET ${path}`, { as, headers });
const tagOf = async (app: TestApp, path: string, as: string): Promise<string> =>
  String((await get(app, path, as)).headers.etag);

etags('is a strong validator of every single object', async ({ app }) => {
  for (const path of [
    '/jb/sites/1/',
    '/jb/clients/1/',
    '/jb/clients/1/site/',
    `/jb/users/${ADA}/`,
    `/jb/apps/${SALES}/`,
    `/jb/users/${ADA}/usage/${SALES}/`,
    '/jb/env/',
    '/session/',
    '/branding/',
  ]) {
    const [first, second] = [await get(app, path, ROOT), await get(app, path, ROOT)];
    assert.match(String(first.headers.etag), /^"[\w-]{43}(\.[\w-]{43})?"$/, path);
    assert.is(first.headers.etag, second.headers.etag, path);
    const whole = etagOf({}, first.body).slice(1);
    assert.ok(String(first.headers.etag).endsWith(whole), path);
  }
});

etags('is absent from lists, pages, streams and failures', async ({ app }) => {
  for (const path of [
    `/jb/apps/${SALES}/usage/entries/`,
    '/jb/users/',
    '/jb/apps/',
    `/jb/apps/${SALES}/usage/`,
    '/jb/users/unknown@x.test/',
  ]) {
    assert.is((await get(app, path, ROOT)).headers.etag, undefined, path);
  }
});

etags('differs between callers who see different content, and after a change', async ({ app }) => {
  const path = `/jb/apps/${SALES}/`;
  const before = await tagOf(app, path, ACME);
  assert.is.not(before, await tagOf(app, path, ADA));

  await app.send(`PATCH ${path}`, { as: ACME, payload: { label: 'Sales again' } });
  assert.is.not(before, await tagOf(app, path, ACME));
});

etags('answers GET and HEAD with 304 without a body if it matches', async ({ app }) => {
  const path = `/jb/users/${ADA}/`;
  const full = await get(app, path, ACME);
  const tag = String(full.headers.etag);
  for (const method of ['GET', 'HEAD']) {
    for (const known of [tag, `W/${tag}`, `"a,b", W/"c" ,, ${tag}`, '*']) {
      const response = await app.send(`${method} ${path}`, { as: ACME, headers: { 'if-none-match': known } });
      assert.equal([response.statusCode, response.body], [304, ''], `${method} ${known}`);
      assert.is(response.headers.etag, tag);
      assert.is(response.headers.vary, full.headers.vary);
      assert.is(response.headers['cache-control'], full.headers['cache-control']);
      const length = method === 'HEAD' ? full.headers['content-length'] : undefined;
      assert.is(response.headers['content-length'], length);
    }
  }
});

etags('sends the full response if no tag matches or the header is invalid', async ({ app }) => {
  const path = `/jb/users/${ADA}/`;
  const tag = await tagOf(app, path, ACME);
  for (const unknown of ['"other"', tag.slice(1, -1), `${tag} ${tag}`, '', `w/${tag}`]) {
    const response = await get(app, path, ACME, { 'if-none-match': unknown });
    assert.equal([response.statusCode, response.headers.etag], [200, tag], unknown);
  }
});

etags('answers 401 without valid credentials', async ({ app }) => {
  const path = `/jb/users/${ADA}/`;
  const headers = { 'if-none-match': '*' };
  assert.is((await app.send(`GET ${path}`, { headers })).statusCode, 401);
  assert.is((await get(app, '/jb/users/unknown@x.test/', ROOT, headers)).statusCode, 404);
});

etags('is the same on a PATCH as on the GET of the resource', async ({ app }) => {
  await app.as(ACME).users.create({ email: 'tagged@acme.test' });
  await app.as(ACME).invitations.create({ items: [{ email: 'tagged@x.test', client: 1 }] });
  for (const [path, payload] of [
    ['/jb/users/tagged@acme.test/', { first_name: 'T', extra: { b: 1, a: [{}] } }],
    ['/jb/clients/1/', { login_title: 'Hello' }],
    [`/jb/apps/${SALES}/`, { description: 'Tagged' }],
    ['/jb/users/invitations/tagged@x.test/', { extra: { z: 1 } }],
  ] as const) {
    const changed = await app.send(`PATCH ${path}`, { as: ACME, payload });
    const shown = await get(app, path, ACME);
    assert.equal([changed.statusCode, changed.body], [200, shown.body], path);
    assert.ok(shown.headers.etag, path);
    assert.is(changed.headers.etag, shown.headers.etag, path);
  }
});

etags('is set on a creation together with Location', async ({ app }) => {
  const site = await app.send('POST /jb/sites/', { as: ROOT, payload: { domain: 'x.test', name: 'X' } });
  const client = await app.send('POST /jb/clients/', {
    as: ROOT,
    payload: { name: 'X', site: site.json().id },
  });
  for (const made of [site, client]) {
    const location = String(made.headers.location);
    const shown = await app.send(`GET !${location}`, { as: ROOT });
    assert.equal([made.statusCode, shown.statusCode], [201, 200]);
    assert.is(shown.body, made.body, location);
    assert.is(shown.headers.etag, made.headers.etag);
  }
  const token = await app.send('POST /jb/tokens/', { as: STAFF, payload: { name: 'X' } });
  assert.equal([token.statusCode, token.headers.location, token.headers.etag], [201, undefined, undefined]);
});

etags('parses every valid list of tags and nothing else', () => {
  const opaque = fc.string({
    unit: fc
      .integer({ min: 0x21, max: 0x7e })
      .filter((code) => code !== 0x22)
      .map((code) => String.fromCharCode(code)),
  });
  const tag = fc.tuple(fc.boolean(), opaque).map(([isWeak, text]) => `${isWeak ? 'W/' : ''}"${text}"`);
  const separator = fc.constantFrom(',', ', ', ' ,\t', ',,');
  fc.assert(
    fc.property(fc.array(tag, { minLength: 1 }), separator, (tags, between) => {
      const read = parseEtags(tags.join(between));
      assert.equal(read, tags);
      for (const one of tags) {
        assert.is(matchesStrongly(tags, one), !one.startsWith('W/') || tags.includes(one));
        assert.ok(matchesWeakly(tags, one.replace(/^W\//, '')));
      }
    }),
  );
  for (const none of ['', '"', 'a', '"a" "b"', '"a"b', '*,"a"', 'W/', '"a";q=1'])
    assert.is(parseEtags(none), null, none);
  assert.is(parseEtags(' * '), '*');
});

etags('is parsed in linear time', () => {
  const started = cpuMs();
  parseEtags(`${'"a",'.repeat(32_000)}x`);
  parseEtags(`${','.repeat(128_000)}x`);
  parseEtags(`${'" '.repeat(64_000)}`);
  assert.ok(cpuMs() - started < 2_000);
});

etags.run();
