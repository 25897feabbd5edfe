import * as assert from 'uvu/assert';
import { sendRaw } from '../support/http-clients.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, ROOT, STAFF } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const requests = appSuite('requests');

requests('paths are served without the trailing slash, too, for every method', async ({ app }) => {
  const read = await app.send('GET /jb/sites', { as: ADA });
  const written = await app.send('PATCH /jb/apps/zylTKNVx', { as: ACME, payload: { label: 'Sold' } });

  assert.is(read.statusCode, 200);
  assert.is(written.json().label, 'Sold');
});

requests('paths decode parameters and keep + as it is', async ({ app }) => {
  await app.send('POST /jb/users/', { as: ACME, payload: { email: 'a+b@x.com' } });

  assert.is((await app.send('GET /jb/users/a%2Bb%40x.com/', { as: ACME })).json().email, 'a+b@x.com');
  assert.is((await app.send('GET /jb/users/a+b@x.com/', { as: ACME })).statusCode, 200);
  assert.is((await app.send('GET /jb/users/A%2BB%40X.COM/', { as: ACME })).statusCode, 200);
});

requests('paths answer 404 if unknown, 405 with Allow for other methods, or 400', async ({ app }) => {
  const where = 'No such path. REST paths begin with /api/v1/: see /docs/.';
  for (const line of ['GET !/jb/users/', 'GET /jb/userz/', 'GET /JB/sites/'])
    assert.is((await app.send(line, { as: ROOT })).json().detail, where, line);
  const read = 'GET, HEAD, OPTIONS';
  const list = 'GET, HEAD, POST, OPTIONS';
  const answers: [line: string, status: number, allow?: string][] = [
    ['GET /jb/users/%E0%A4%A/', 400],
    ['GET /jb/users/a%00@acme.test/', 400],
    ['GET /jb/users/unknown/', 404],
    [`GET /jb/users/${'a'.repeat(2000)}/`, 414],
    ['GET !/%00', 404],
    [`GET !/${'a'.repeat(5000)}`, 404],
    ['GET !/api/v1//jb/sites/', 404],
    ['GET !/api/v1/jb/sites//', 400],
    ['DELETE /jb/sites/', 405, list],
    ['PROPFIND /jb/sites/', 405, list],
    ['PATCH /jb/users/invitations/', 405, list],
    ['DELETE /jb/users/invitations/', 405, list],
    ['POST !/healthz', 405, read],
    ['POST !/avatars/a.svg', 405, read],
    ['OPTIONS !/readyz', 204, read],
    ['POST !/api/v1/csrf/', 405, read],
    ['HEAD !/trpc/users.list', 405, 'GET, POST, OPTIONS'],
  ];
  for (const [line, status, allow] of answers) {
    const { statusCode, headers } = await app.send(line, { as: ROOT });
    assert.equal([statusCode, headers.allow], [status, allow], line);
  }
  // Without the empty last segment it is the home page, which redirects to the login.
  assert.is((await app.send('GET !//')).headers.location, '/login/');
});

requests('paths parse numbers strictly', async ({ app }) => {
  for (const id of ['abc', '1.5', '0x1', '1e0', '%201']) {
    const response = await app.send(`GET /jb/clients/${id}/`, { as: ROOT });
    assert.is(response.statusCode, 400, id);
    assert.ok(response.json().errors.id, id);
  }
  for (const id of ['0', '-1', '9', '99999999999', '9'.repeat(40)]) {
    assert.is((await app.send(`GET /jb/clients/${id}/`, { as: ROOT })).statusCode, 404, id);
  }
});

const JSON_TYPE = { 'content-type': 'application/json' };

requests('bodies: treats an empty body as {} for every content type', async ({ app }) => {
  for (const type of ['application-json', 'text/plain', 'application/json', 'multipart/form-data', ';;']) {
    const response = await app.send('POST /app/load/sales/', {
      as: STAFF,
      headers: { 'content-type': type },
    });
    assert.is(response.statusCode, 404, `${type}: ${response.body}`);
    assert.match(response.json().detail, /fetched package/);
  }
});

requests('bodies: are not parsed before authentication', async ({ app }) => {
  const unreadable = { payload: 'not json', headers: { 'content-type': 'text/plain' } };
  for (const line of ['GET /jb/users/ada@acme.test/', 'GET /jb/sites/', 'POST /jb/users/']) {
    assert.is((await app.send(line, unreadable)).statusCode, 401);
  }
});

requests('bodies: are JSON in UTF-8, in every spelling of its type, else 415', async ({ app }) => {
  const types = { 'application/json; charset=utf-8': 200, 'Application/JSON;charset="UTF-8"': 200 };
  const others = { 'text/plain': 415, 'application-json': 415, 'application/json; charset=latin1': 415 };
  for (const [type, status] of Object.entries({ ...types, 'application/json;': 200, ...others })) {
    const request = { as: ACME, payload: '{"label":"Größe"}', headers: { 'content-type': type } };
    const { statusCode, json } = await app.send('PATCH /jb/apps/zylTKNVx/', request);
    assert.is(statusCode, status, type);
    if (status === 200) assert.is(json().label, 'Größe', type);
  }
});

requests('bodies: answers a wrong top-level type with 400', async ({ app }) => {
  for (const payload of ['[]', '"text"', 'null', '1', '[{}]']) {
    const response = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload, headers: JSON_TYPE });
    assert.is(response.statusCode, 400, payload);
  }
});

requests('bodies: trims email addresses and names of users, and no other strings', async ({ app }) => {
  const payload = { email: ' Grete@Acme.test\t', first_name: ' Grete ', last_name: '\u00a0Hermann\n' };
  const sent = { as: ACME, payload: { ...payload, extra: { a: ' x ' } } };
  const { email, first_name, last_name, extra } = (await app.send('POST /jb/users/', sent)).json();
  const patch = async (path: string, changes: object) =>
    (await app.send(`PATCH ${path}`, { as: ACME, payload: changes })).json();

  assert.equal([email, first_name, last_name, extra], ['grete@acme.test', 'Grete', 'Hermann', { a: ' x ' }]);
  const long = { first_name: `${' '.repeat(200)}G. ` };
  assert.is((await patch('/jb/users/grete@acme.test/', long)).first_name, 'G.');
  assert.is((await patch('/jb/apps/zylTKNVx/', { label: ' Sales ' })).label, ' Sales ');
  const { support_email } = await patch('/jb/clients/1/', { support_email: ' help@acme.test ' });
  assert.is(support_email, 'help@acme.test');
  const login = { username: ' ada@acme.test ', password: DEMO_PASSWORD };
  assert.is((await app.send('POST /api-token-auth/', { payload: login })).statusCode, 200);
});

requests('bodies: does not coerce JSON values', async ({ app }) => {
  const payload = { show_help: 'no', in_maintenance: 1, label: 7, description: null };
  const response = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload });

  assert.is(response.statusCode, 400);
  assert.equal(Object.keys(response.json().errors).sort(), Object.keys(payload).sort());
});

requests('bodies: keeps __proto__ as plain data in extra and ignores it elsewhere', async ({ app }) => {
  const extra = '{"__proto__":{"is_active":false},"constructor":{"prototype":1},"a":[{"__proto__":null}]}';
  const response = await app.send(`PATCH /jb/users/${ADA}/`, {
    as: ACME,
    payload: `{"__proto__":{"first_name":"Hacked"},"extra":${extra}}`,
    headers: JSON_TYPE,
  });
  const queried = await app.send('GET /jb/users/?__proto__[app]=sales&constructor=1', { as: ACME });

  assert.is(response.statusCode, 200);
  assert.ok(response.body.includes(extra), response.body);
  assert.is.not(response.json().first_name, 'Hacked');
  assert.is(queried.statusCode, 200);
});

requests('bodies: answers more than 1 MiB with 413, but accepts 16 MiB of invitations', async ({ app }) => {
  const send = (line: string, payload: string) => app.send(line, { as: ACME, payload, headers: JSON_TYPE });
  const large = JSON.stringify({ label: 'x'.repeat(1024 * 1024) });
  const taken = await send('POST /jb/users/invitations/', `[${' '.repeat(2 * 1024 * 1024)}]`);

  assert.is((await send('PATCH /jb/apps/zylTKNVx/', large)).statusCode, 413);
  assert.equal([taken.statusCode, taken.body], [200, '[]']);
});

const PATH = `POST /jb/apps/${SALES}/usage/`;
const entry = (extra: string) => `{"email":"${ADA}","action":"X","extra":${extra}}`;
const repeated = (text: string, times: number) => Array.from({ length: times }, () => text).join(',');

requests('JSON: refuses bodies with too many values before parsing, over REST and tRPC', async ({ app }) => {
  // Neither is valid JSON, which a parser would report first.
  const bodies = {
    'empty arrays': `[${repeated(entry(`{"a":[${repeated('[]', 1_300)}]}`), 480)}`,
    'empty entries': `[${repeated('{}', 600_000)}`,
  };
  for (const [name, payload] of Object.entries(bodies)) {
    const rest = await app.send(PATH, { as: STAFF, payload, headers: JSON_TYPE });
    const rpc = await app.send('POST !/trpc/usage.record', {
      as: STAFF,
      payload: `{"json":{"app_id":"${SALES}","entries":${payload}}}`,
      headers: JSON_TYPE,
    });

    assert.equal([rest.statusCode, rpc.statusCode], [400, 400], name);
    assert.match(rest.json().errors.body[0], /500000 values/, name);
    assert.match(rpc.body, /500000 values/, name);
  }
});

requests('JSON: accepts many usage entries and large strings', async ({ app }) => {
  const entries = `[${repeated(entry('{"request":{"path":"/a/","META":{"QUERY_STRING":"a=1,2,3"}}}'), 2_000)}]`;
  const texts = `[${repeated(entry(JSON.stringify({ text: 'x'.repeat(60_000) })), 25)}]`;

  const record = async (payload: string) =>
    (await app.send(PATH, { as: STAFF, payload, headers: JSON_TYPE })).json().inserted;
  assert.equal([await record(entries), await record(texts)], [2_000, 25]);
});

requests('Host header: is required in HTTP/1.1, but not in HTTP/1.0', async ({ app }) => {
  const line = (version: string) => `GET /healthz HTTP/${version}\r\nConnection: close\r\n\r\n`;

  assert.match(await sendRaw(app, line('1.1')), /^HTTP\/1\.1 400 /);
  assert.match(await sendRaw(app, line('1.0')), /^HTTP\/1\.1 200 /);
});

requests('errors of HTTP: are problems, after which the connection is closed', async ({ app }) => {
  const chunked = 'POST /api/v1/api-token-auth/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
  for (const [bytes, status, problem] of [
    ['HELLO\r\n\r\n', '400 Bad Request', 'malformed-request'],
    [`${chunked}no chunk\r\n`, '400 Bad Request', 'malformed-request'],
    [`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`, '431 ', 'headers-too-large'],
  ] as const) {
    const answer = await sendRaw(app, bytes);
    assert.ok(answer.startsWith(`HTTP/1.1 ${status}`), answer);
    assert.match(answer, 'application/problem+json');
    assert.match(answer, `urn:steward:problem:${problem}`);
  }
});

requests('errors of HTTP: are not the answer to a complete request before them', async ({ app }) => {
  const body = JSON.stringify({ username: ADA, password: DEMO_PASSWORD });
  const head = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  const login = `POST /api/v1/api-token-auth/ HTTP/1.1\r\n${head}\r\n\r\n${body}`;
  const answer = await sendRaw(app, `${login}GARBAGE\r\n\r\n`);

  assert.match(answer, /^HTTP\/1\.1 200 OK/);
  assert.match(answer, /"token":"[0-9a-f]{40}"/);
});

requests.run();
