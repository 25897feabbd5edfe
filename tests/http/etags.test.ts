import * as assert from 'uvu/assert';
import { etagOf, parseEtags } from '../../src/http/middleware/conditional-requests.ts';
import { preferredReturn } from '../../src/http/rest/negotiation.ts';
import { rowsOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const etags = appSuite('ETags, If-Match, PUT and Prefer');

const get = (app: TestApp, path: string, as: string, headers = {}) =>
  app.send(`GET ${path}`, { as, headers });

const tagOf = async (app: TestApp, path: string, as: string): Promise<string> =>
  String((await get(app, path, as)).headers.etag);

etags('ETag: is a strong validator of every single object', async ({ app }) => {
  for (const path of ['/jb/clients/1/', `/jb/users/${ADA}/`, `/jb/apps/${SALES}/`, '/jb/env/', '/session/']) {
    const [first, second] = [await get(app, path, ROOT), await get(app, path, ROOT)];
    assert.match(String(first.headers.etag), /^"[\w-]{43}(\.[\w-]{43})?"$/, path);
    assert.is(first.headers.etag, second.headers.etag, path);
    const whole = etagOf({}, first.body).slice(1);
    assert.ok(String(first.headers.etag).endsWith(whole), path);
  }
});

etags('ETag: is absent from lists, pages, streams and failures', async ({ app }) => {
  const usage = `/jb/apps/${SALES}/usage/`;
  for (const path of [`${usage}entries/`, usage, '/jb/users/', '/jb/users/unknown@x.test/']) {
    assert.is((await get(app, path, ROOT)).headers.etag, undefined, path);
  }
});

etags('ETag: differs between callers who see different content, and after a change', async ({ app }) => {
  const path = `/jb/apps/${SALES}/`;
  const before = await tagOf(app, path, ACME);
  assert.is.not(before, await tagOf(app, path, ADA));

  await app.send(`PATCH ${path}`, { as: ACME, payload: { label: 'Sales again' } });
  assert.is.not(before, await tagOf(app, path, ACME));
});

etags('ETag: answers GET and HEAD with 304 without a body if it matches', async ({ app }) => {
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
  for (const unknown of ['"other"', tag.slice(1, -1), `${tag} ${tag}`, '']) {
    const response = await get(app, path, ACME, { 'if-none-match': unknown });
    assert.equal([response.statusCode, response.headers.etag], [200, tag], unknown);
  }
});

etags('ETag: is the same on a PATCH as on the GET of the resource', async ({ app }) => {
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

etags('ETag: is set on a creation together with Location', async ({ app }) => {
  const create = (path: string, payload: object) => app.send(`POST ${path}`, { as: ROOT, payload });
  const site = await create('/jb/sites/', { domain: 'x.test', name: 'X' });
  const client = await create('/jb/clients/', { name: 'X', site: site.json().id });
  for (const made of [site, client]) {
    const shown = await app.send(`GET !${made.headers.location}`, { as: ROOT });
    assert.equal([made.statusCode, shown.statusCode, shown.body], [201, 200, made.body]);
    assert.is(shown.headers.etag, made.headers.etag);
  }
  const token = await create('/jb/tokens/', { name: 'X' });
  assert.equal([token.statusCode, token.headers.location, token.headers.etag], [201, undefined, undefined]);
});

etags('ETag: parses every valid list of tags and nothing else', () => {
  for (const tags of [['"a"'], ['W/"a"'], ['""'], ['"a,b"', '"c"'], ['W/"!"', '"#~"', '"c"']])
    for (const between of [',', ' ,\t', ',,']) assert.equal(parseEtags(tags.join(between)), tags);
  for (const none of ['', '"', 'a', '"a" "b"', '"a"b', '*,"a"', 'W/', '"a";q=1'])
    assert.is(parseEtags(none), null, none);
  assert.is(parseEtags(' * '), '*');
});

type Change = { line: string; as?: string; payload?: object; headers: Record<string, string> };

const change = (app: TestApp, { line, as = ACME, payload, headers }: Change) =>
  app.send(line, { as, headers, ...(payload && { payload }) });

const FILTER = { stack_id: 'a0a91e46', hash: 'mine', name: 'Mine' };

etags.before(async ({ app }) => {
  await app.as(ACME).users.create({ email: 'written@acme.test' });
  await app.as(ACME).invitations.create({ items: [{ email: 'invited@x.test', client: 1 }] });
  await app.as(ADA).savedFilters.create(FILTER);
});

const CASES: { method: string; path: string; as: string; payload: object }[] = [
  { method: 'PATCH', path: '/jb/users/written@acme.test/', as: ACME, payload: { first_name: 'W' } },
  { method: 'PATCH', path: '/jb/clients/1/', as: ACME, payload: { login_title: 'W' } },
  { method: 'PUT', path: '/hashr/saved_global_filters/mine/', as: ADA, payload: { ...FILTER, name: 'W' } },
];

/** Among others, and as servers mark the tag of a response that they compress: nginx, Apache and Jetty. */
const AS_SENT: ((tag: string) => string)[] = [
  (tag) => `"else", ${tag}`,
  (tag) => `W/${tag}`,
  (tag) => tag.replace(/"$/, '-gzip"'),
  (tag) => `W/${tag.replace(/"$/, '--gzip"')}`,
];

for (const { method, path, as, payload } of CASES)
  etags(`If-Match: ${method} ${path} takes the current ETag and refuses an outdated one`, async ({ app }) => {
    app.clock.advance(1000);
    const seen = await tagOf(app, path, as);
    const send = (tag: string) =>
      change(app, { line: `${method} ${path}`, as, payload, headers: { 'if-match': tag } });
    const stale = await send('"else", W/"weak"');
    assert.is(stale.statusCode, 412, stale.body);
    assert.is(stale.json().type, 'urn:steward:problem:precondition-failed');
    assert.is(await tagOf(app, path, as), seen, 'nothing was changed');

    for (const marked of AS_SENT) {
      app.clock.advance(1000);
      const fresh = await send(marked(await tagOf(app, path, as)));
      assert.ok([200, 204].includes(fresh.statusCode), fresh.body);
    }
    assert.is((await send(seen)).statusCode, 412);
    assert.ok([200, 204].includes((await send('*')).statusCode));
  });

etags('If-Match: applies to a DELETE', async ({ app }) => {
  const path = '/hashr/saved_global_filters/mine/';
  const remove = (tag: string) =>
    change(app, { line: `DELETE ${path}`, as: ADA, headers: { 'if-match': tag } });
  const seen = await tagOf(app, path, ADA);

  assert.is((await remove('"else"')).statusCode, 412);
  assert.is((await remove(seen)).statusCode, 204);
  assert.is((await remove(seen)).statusCode, 404);
  assert.is((await remove('*')).statusCode, 404);
});

etags('If-Match: If-None-Match refuses a change of an existing resource', async ({ app }) => {
  const line = 'PATCH /jb/clients/1/';
  const payload = { login_title: 'None' };
  const response = await change(app, { line, payload, headers: { 'if-none-match': '*' } });
  assert.is(response.statusCode, 412);
  assert.match(response.json().detail, 'exists');
  assert.is((await change(app, { line, payload, headers: { 'if-none-match': '"x"' } })).statusCode, 200);
});

etags('If-Match: names a header that is malformed or not supported here', async ({ app }) => {
  const line = 'PATCH /jb/clients/1/';
  for (const header of ['If-Match', 'If-None-Match'])
    for (const tag of ['bare', '"open', '"a" "b"', '']) {
      const response = await change(app, { line, payload: {}, headers: { [header]: tag } });
      assert.equal([response.statusCode, Object.keys(response.json().errors)], [400, [header]], tag);
    }
  const payload = { email: 'unmade@acme.test' };
  for (const other of [`DELETE /jb/users/${ADA}/sessions/`, 'POST /jb/users/']) {
    const response = await change(app, { line: other, payload, headers: { 'if-match': '*' } });
    assert.equal([response.statusCode, Object.keys(response.json().errors)], [400, ['If-Match']], other);
  }
});

etags('If-Match: applies to tRPC calls, but is refused with a batch', async ({ app }) => {
  const input = { json: { id: 1, login_subtitle: 'rpc' } };
  const call = (tag: string, path = 'clients.update', payload: object = input) =>
    app.send(`POST !/trpc/${path}`, { as: ACME, headers: { 'if-match': tag }, payload });
  const stale = await call('"else"');
  assert.is(stale.statusCode, 412);
  assert.is(stale.json().error.json.data.problem.code, 'precondition-failed');
  const batch = { 0: input, 1: input };
  const [together] = (await call('*', 'clients.update,clients.update?batch=1', batch)).json();
  assert.is(together.error.json.data.problem.code, 'invalid-input');
  assert.is((await call(await tagOf(app, '/jb/clients/1/', ACME))).statusCode, 200);
});

etags('If-Match: is ignored when an Idempotency-Key replays the first response', async ({ app }) => {
  const headers = { 'if-match': await tagOf(app, '/jb/clients/1/', ACME), 'idempotency-key': 'keyed' };
  const send = () =>
    change(app, { line: 'PATCH /jb/clients/1/', payload: { login_title: 'Keyed' }, headers });
  const [first, repeat] = [await send(), await send()];
  assert.equal([first.statusCode, repeat.statusCode, repeat.body], [200, 200, first.body]);
});

etags('If-Match: ignores volatile fields: new usage does not block a change of an app', async ({ app }) => {
  const path = `/jb/apps/${SALES}/`;
  const seen = await tagOf(app, path, ACME);
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: ADA, action: 'X' }] });
  const now = await tagOf(app, path, ACME);
  const known = await app.send(`GET ${path}`, { as: ACME, headers: { 'if-none-match': seen } });
  assert.is.not(now, seen);
  assert.is(known.statusCode, 200, 'a reader is given the new counts');

  const write = (label: string, tag: string) =>
    change(app, { line: `PATCH ${path}`, payload: { label }, headers: { 'if-match': tag } });
  const [stable = ''] = seen.split('.');
  assert.is((await write('Half', `${stable}"`)).statusCode, 412, 'half a tag does not match');
  assert.is((await write('Edited', seen)).statusCode, 200);
  assert.is((await write('Again', now)).statusCode, 412, 'an edit counts');
});

const USER = `/jb/users/${GRACE}/`;
const APP = `/jb/apps/${SALES}/`;
const auditCount = async (app: TestApp) => (await rowsOf(app, 'audit_entries')).length;

etags.before(async ({ app }) => {
  const extra = { nested: { list: [1, null, 'x'] }, email: 'not this one' };
  // A user of another client too, whose apps the caller does not see.
  await app.as(ROOT).users.update({ email: GRACE, extra, apps: [SALES, FLEET] });
  await app.as(ACME).apps.update({ app_id: SALES, help_html: '<p>Help</p>', in_maintenance: true });
});

for (const path of [USER, APP])
  etags(`PUT: accepts what GET ${path} returned, and changes nothing`, async ({ app }) => {
    const read = (as: string) => app.send(`GET ${path}`, { as });
    const [before, everything, entries] = [await read(ACME), await read(ROOT), await auditCount(app)];
    const response = await app.send(`PUT ${path}`, { as: ACME, payload: before.json() });

    assert.equal([response.statusCode, response.body], [200, before.body]);
    assert.is((await read(ACME)).headers.etag, before.headers.etag);
    assert.is((await read(ROOT)).body, everything.body);
    assert.is(await auditCount(app), entries);
  });

etags('PUT: changes the fields that differ, keeps those left out, and ignores others', async ({ app }) => {
  const path = `/jb/users/${ADA}/`;
  const user = (await app.send(`GET ${path}`, { as: ACME })).json();
  const changes = { first_name: 'Amazing', handle: '@other', email: GRACE, clientadmin_of: [1], x: 1 };
  const response = await app.send(`PUT ${path}`, { as: ACME, payload: { ...user, ...changes } });

  assert.equal(response.json(), { ...user, first_name: 'Amazing' });
  const before = (await app.send(`GET ${APP}`, { as: ACME })).json();
  const sent = { label: 'Sold', id: FLEET, slug: 'fleet', usage: {}, package_info: { version: '9' } };
  const changed = (await app.send(`PUT ${APP.slice(0, -1)}`, { as: ACME, payload: sent })).json();
  assert.equal(changed, { ...before, label: 'Sold' });
});

etags('PUT: reports every invalid field, and has no ETag', async ({ app }) => {
  const payload = { first_name: 1, is_active: 0 };
  const invalid = await app.send(`PUT ${USER}`, { as: ACME, payload });
  const valid = await app.send(`PUT ${USER}`, { as: ACME, payload: { first_name: 'Grace' } });

  assert.is(invalid.statusCode, 400);
  assert.equal(Object.keys(invalid.json().errors), ['first_name', 'is_active']);
  assert.equal([valid.statusCode, valid.headers.etag], [200, undefined]);
});

const minimal = { prefer: 'return=minimal' };

const patch = (app: TestApp, payload: object) =>
  app.send('PATCH /jb/clients/1/', { as: ACME, payload, headers: minimal });

etags('Prefer: return=minimal omits the body of a PATCH and sets the new ETag', async ({ app }) => {
  const response = await patch(app, { login_title: 'Hi' });
  const shown = await app.send('GET /jb/clients/1/', { as: ACME });

  assert.equal([response.statusCode, response.body], [204, '']);
  assert.is(response.headers['preference-applied'], 'return=minimal');
  assert.is(response.headers.etag, shown.headers.etag);
  const failed = await patch(app, { login_title: 7 });
  assert.equal([failed.statusCode, failed.headers['preference-applied']], [400, undefined]);
});

etags('Prefer: return=minimal omits the body of a creation and sets Location', async ({ app }) => {
  const payload = { domain: 'minimal.test', name: 'Minimal' };
  const response = await app.send('POST /jb/sites/', { as: ROOT, payload, headers: minimal });
  const shown = await app.send(`GET !${response.headers.location}`, { as: ROOT });

  assert.equal([response.statusCode, response.body], [201, '']);
  assert.is(response.headers['preference-applied'], 'return=minimal');
  assert.is(shown.json().domain, 'minimal.test');
});

etags('Prefer: return=minimal keeps secrets that are shown only once', async ({ app }) => {
  const response = await app.send('POST /jb/tokens/', { as: ADA, payload: { name: 'm' }, headers: minimal });
  assert.is(response.statusCode, 201);
  assert.match(response.json().token, /^stw_[A-Za-z0-9]{36}$/);
  assert.is(response.headers['preference-applied'], undefined);
});

etags('Prefer: takes the first of several, in any case, with or without quotes (RFC 7240)', () => {
  for (const [prefer, value] of [
    ['return=minimal', 'minimal'],
    ['respond-async, Return = "Representation"; foo', 'representation'],
    ['return=minimal, return=representation', 'minimal'],
    ['foo; return=minimal', null],
    ['return=all', null],
    ['xreturn=minimal', null],
    ['return=minimalism', null],
  ] as const)
    assert.is(preferredReturn({ headers: { prefer } }), value, prefer);
});

etags.run();
