import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const matching = appSuite('If-Match and If-None-Match');

const tagOf = async (app: TestApp, path: string, as: string): Promise<string> =>
  String((await app.send(`GET ${path}`, { as })).headers.etag);

type Change = { line: string; as?: string; payload?: object; headers: Record<string, string> };
const change = (app: TestApp, { line, as = ACME, payload, headers }: Change) =>
  app.send(line, { as, headers, ...(payload && { payload }) });

const FILTER = { stack_id: 'a0a91e46', hash: 'mine', name: 'Mine' };

matching.before(async ({ app }) => {
  await app.as(ACME).users.create({ email: 'written@acme.test' });
  await app.as(ACME).invitations.create({ items: [{ email: 'invited@x.test', client: 1 }] });
  await app.as(ADA).savedFilters.create(FILTER);
});

const CASES: { method: string; path: string; as: string; payload: object }[] = [
  { method: 'PATCH', path: '/jb/users/written@acme.test/', as: ACME, payload: { first_name: 'W' } },
  { method: 'PATCH', path: '/jb/clients/1/', as: ACME, payload: { login_title: 'W' } },
  { method: 'PATCH', path: `/jb/apps/${SALES}/`, as: ACME, payload: { description: 'W' } },
  { method: 'PATCH', path: '/jb/users/invitations/invited@x.test/', as: ACME, payload: { extra: { w: 1 } } },
  { method: 'PUT', path: '/hashr/saved_global_filters/mine/', as: ADA, payload: { ...FILTER, name: 'W' } },
];

for (const { method, path, as, payload } of CASES) {
  matching(`accepts ${method} ${path} with the current ETag and refuses an outdated one`, async ({ app }) => {
    app.clock.advance(1000);
    const seen = await tagOf(app, path, as);
    const send = (tag: string) =>
      change(app, { line: `${method} ${path}`, as, payload, headers: { 'if-match': tag } });
    const stale = await send('"else", W/"weak"');
    assert.is(stale.statusCode, 412, stale.body);
    assert.is(stale.json().type, 'urn:steward:problem:precondition-failed');
    assert.is((await send(`W/${seen}`)).statusCode, 412, 'weak tags match nothing');
    assert.is(await tagOf(app, path, as), seen, 'nothing was changed');

    const fresh = await send(`"else", ${seen}`);
    assert.ok([200, 204].includes(fresh.statusCode), fresh.body);
    assert.is((await send(seen)).statusCode, 412);
    assert.ok([200, 204].includes((await send('*')).statusCode));
  });
}

matching('applies to a DELETE', async ({ app }) => {
  const path = '/hashr/saved_global_filters/mine/';
  const remove = (tag: string) =>
    change(app, { line: `DELETE ${path}`, as: ADA, headers: { 'if-match': tag } });
  const seen = await tagOf(app, path, ADA);

  assert.is((await remove('"else"')).statusCode, 412);
  assert.is((await remove(seen)).statusCode, 204);
  assert.is((await remove(seen)).statusCode, 404);
  assert.is((await remove('*')).statusCode, 404);
});

matching('applies to the deactivation of a user', async ({ app }) => {
  const path = `/jb/users/${GRACE}/`;
  const seen = await tagOf(app, path, ACME);
  const end = (tag: string) => change(app, { line: `DELETE ${path}`, headers: { 'if-match': tag } });

  assert.is((await end('"else"')).statusCode, 412);
  assert.is((await app.send(`GET ${path}`, { as: ACME })).json().is_active, true);
  assert.is((await end(seen)).statusCode, 204);
});

matching('If-None-Match refuses a change of an existing resource', async ({ app }) => {
  const line = 'PATCH /jb/clients/1/';
  const payload = { login_title: 'None' };
  const response = await change(app, { line, payload, headers: { 'if-none-match': '*' } });
  assert.is(response.statusCode, 412);
  assert.match(response.json().detail, 'exists');
  assert.is((await change(app, { line, payload, headers: { 'if-none-match': '"x"' } })).statusCode, 200);
});

matching('does not change the response for missing, hidden or forbidden resources', async ({ app }) => {
  for (const [line, as, status] of [
    ['PATCH /jb/users/unknown@x.test/', ACME, 404],
    ['PATCH /jb/users/edsger@globex.test/', ACME, 404],
    ['PATCH /jb/clients/2/', ACME, 404],
    ['PATCH /jb/clients/99999999999/', ROOT, 404],
    [`PATCH /jb/users/${ADA}/`, ADA, 403],
    ['PUT /hashr/saved_global_filters/none/', ADA, 404],
  ] as const) {
    for (const tag of ['*', '"else"']) {
      const response = await change(app, { line, as, payload: {}, headers: { 'if-match': tag } });
      assert.is(response.statusCode, status, `${line} ${response.body}`);
    }
  }
});

matching('names a header that is malformed or not supported here', async ({ app }) => {
  const line = 'PATCH /jb/clients/1/';
  for (const header of ['if-match', 'if-none-match']) {
    for (const tag of ['bare', '"open', '"a" "b"', '']) {
      const response = await change(app, { line, payload: {}, headers: { [header]: tag } });
      assert.is(response.statusCode, 400, tag);
      assert.equal(
        Object.keys(response.json().errors).map((name) => name.toLowerCase()),
        [header],
      );
    }
  }
  for (const other of [`DELETE /jb/users/${ADA}/sessions/`, 'POST /jb/users/']) {
    const payload = { email: 'unmade@acme.test' };
    const response = await change(app, { line: other, payload, headers: { 'if-match': '*' } });
    assert.is(response.statusCode, 400, other);
    assert.ok(response.json().errors['If-Match'], other);
  }
});

matching('applies to tRPC calls, but is refused with a batch', async ({ app }) => {
  const call = (tag: string, names = ['clients.update']) =>
    app.send(`POST !/trpc/${names.join(',')}${names.length > 1 ? '?batch=1' : ''}`, {
      as: ACME,
      headers: { 'if-match': tag },
      payload:
        names.length > 1
          ? Object.fromEntries(names.map((_, n) => [n, { json: { id: 1, login_subtitle: 'rpc' } }]))
          : { json: { id: 1, login_subtitle: 'rpc' } },
    });
  const stale = await call('"else"');
  assert.is(stale.statusCode, 412);
  assert.is(stale.json().error.json.data.problem.code, 'precondition-failed');
  const [together] = (await call('*', ['clients.update', 'clients.update'])).json();
  assert.is(together.error.json.data.problem.code, 'invalid-input');
  assert.is((await call(await tagOf(app, '/jb/clients/1/', ACME))).statusCode, 200);
});

matching('is ignored when an Idempotency-Key replays the first response', async ({ app }) => {
  const tag = await tagOf(app, '/jb/clients/1/', ACME);
  const send = () =>
    change(app, {
      line: 'PATCH /jb/clients/1/',
      payload: { login_title: 'Keyed' },
      headers: { 'if-match': tag, 'idempotency-key': 'keyed' },
    });
  const [first, repeat] = [await send(), await send()];
  assert.equal([first.statusCode, repeat.statusCode, repeat.body], [200, 200, first.body]);
});

matching('ignores volatile fields: new usage does not block a change of an app', async ({ app }) => {
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

matching.run();
