import * as assert from 'uvu/assert';
import { problemDocument } from '../../src/http/rest/problem-document.ts';
import { invalid } from '../../src/lib/problems.ts';
import { sendRaw } from '../support/http-clients.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, ROOT, startTestApp } from '../support/test-app.ts';

const responses = appSuite('responses');
const JSON_TYPE = { 'content-type': 'application/json' };

responses('accept every Accept header that allows JSON and answer 406 to all others', async ({ app }) => {
  const plain = ['*/*', 'application/*', 'application/json', 'text/html, */*;q=0.1', '', undefined];
  const odd = ['application/json; charset=utf-8', 'application/json;indent=4;q=0.8', '*', 'APPLICATION/JSON'];
  for (const accept of [...plain, ...odd]) {
    const response = await app.send('GET /jb/sites/', { as: ADA, headers: { accept } });
    assert.is(response.statusCode, 200, accept);
  }
  for (const accept of ['application/xml', 'image/png', 'application/json;q=0']) {
    const response = await app.send('GET /jb/sites/', { as: ADA, headers: { accept } });
    assert.is(response.statusCode, 406, accept);
  }
});

responses('are 406 before anything changes', async ({ app }) => {
  const payload = { email: 'unmade@acme.test' };
  const response = await app.send('POST /jb/users/', { as: ACME, payload, headers: { accept: 'image/png' } });

  assert.is(response.statusCode, 406);
  assert.is((await app.send('GET /jb/users/unmade@acme.test/', { as: ACME })).statusCode, 404);
});

responses('always have Vary and a request id, and keep a well-formed id', async ({ app }) => {
  const headers = { 'x-request-id': 'caller-7' };
  for (const line of ['GET /jb/sites/', 'GET /nowhere/', 'DELETE /jb/sites/', 'GET /jb/users/%E0/']) {
    const response = await app.send(line, { as: ADA, headers });
    assert.match(String(response.headers.vary), 'Accept', line);
    assert.is(response.headers['x-request-id'], 'caller-7', line);
  }
  const forged = await app.send('GET /jb/sites/', { as: ADA, headers: { 'x-request-id': 'a b\tc' } });
  assert.match(String(forged.headers['x-request-id']), /^[0-9a-f-]{36}$/);
});

responses('report failures as problem+json with all invalid fields', async ({ app }) => {
  const response = await app.send('POST /jb/users/', {
    as: ACME,
    payload: { email: 'no address', is_demo_user: 'yes', apps: ['zylTKNVx', 'bad'] },
    headers: { 'x-request-id': 'r1' },
  });
  const { errors, ...problem } = response.json();

  assert.is(response.statusCode, 400);
  assert.is(response.headers['content-type'], PROBLEM);
  assert.equal(problem, {
    type: 'urn:steward:problem:invalid-input',
    title: 'Invalid input',
    status: 400,
    detail: 'email: Must be an email address. (and 2 more errors)',
    instance: 'r1',
  });
  assert.equal(Object.keys(errors).sort(), ['apps', 'email', 'is_demo_user']);
  assert.match(errors.apps[0], /^apps\.1: /);
});

const HOW_TO_SEND =
  'Send the header `Authorization: Token <token>`, with a token of POST /api/v1/api-token-auth/.';
const INVALID_TOKEN = 'The token is invalid or expired. Get a new one with POST /api/v1/api-token-auth/.';

responses('name the first invalid field in their detail, nested or in an array too', async ({ app }) => {
  const invitation = { email: 'b', client: 1, initial_apps: [] };
  const details: [path: string, payload: object, detail: string][] = [
    ['/jb/users/', { email: 'no address' }, 'email: Must be an email address.'],
    ['/jb/users/', { email: 'a@x.test', apps: ['zylTKNVx', 'x'] }, 'apps.1: Must be 8 letters or digits.'],
    [
      '/jb/users/invitations/',
      [{ ...invitation, email: 'a@x.test' }, invitation, {}],
      'Element 1, email: Must be an email address. (and 1 more error)',
    ],
    ['/jb/users/invitations/', invitation, 'email: Must be an email address.'],
  ];
  for (const [path, payload, detail] of details) {
    const response = await app.send(`POST ${path}`, { as: ACME, payload });
    assert.equal([response.statusCode, response.json().detail], [400, detail]);
  }
});

responses('repeat no secret and no long text of the input in their detail', async ({ app }) => {
  const weak = await app.send('POST /password/change/', {
    as: ADA,
    payload: { password: DEMO_PASSWORD, new_password: 'secret7' },
  });
  const json = `{"password": "${DEMO_PASSWORD}", "new_password": secret7}`;
  const broken = await app.send('POST /password/change/', { as: ADA, payload: json, headers: JSON_TYPE });
  const long = problemDocument(invalid({ [`flags.${'k'.repeat(5000)}`]: ['Must be a string.'] }), 'r1');

  assert.equal([weak.statusCode, broken.statusCode], [400, 400]);
  assert.is(weak.json().detail, 'new_password: At least 8 characters.');
  for (const { body } of [weak, broken]) assert.not.match(body, /secret7|steward-demo/);
  assert.ok(JSON.parse(long).detail.length <= 500);
});

responses('name the place or the character where a body is no JSON', async ({ app }) => {
  const bodies: [body: string | Buffer, detail: string][] = [
    ['{"label": "ä", show}', 'JSON: error in line 1 column 16.'],
    ['{\n  "label": "x",\n}', 'JSON: error in line 3 column 1.'],
    ['{"label": NaN}', "JSON: unexpected token 'N'."],
    ["{'label': 'x'}", 'JSON: error in line 1 column 2.'],
    ['{"label":\r\n "x"', 'JSON: error in line 2 column 5.'],
    ['{"label": tru', 'JSON: unexpected end of JSON input.'],
    ['{"label": "x"} {}', 'JSON: error in line 1 column 16.'],
    [`{"label": "${'x\\n'.repeat(50_000)}",\n"a" 1}`, 'JSON: error in line 2 column 5.'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 'UTF-8.'],
  ];
  for (const [payload, detail] of bodies) {
    const response = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload, headers: JSON_TYPE });
    assert.equal([response.statusCode, response.json().detail], [400, `The body is not valid ${detail}`]);
  }
});

responses('are 401 with the reason and what to do, without valid credentials', async ({ app }) => {
  const token = await app.tokenOf(ADA);
  const reasons: [string | undefined, string][] = [
    [undefined, `No credentials were sent. ${HOW_TO_SEND}`],
    [`Basic ${token}`, `Unknown authorization scheme. ${HOW_TO_SEND}`],
    ['Token', INVALID_TOKEN],
    ['Token wrong', INVALID_TOKEN],
    [`Token ${token}x`, INVALID_TOKEN],
  ];
  for (const [authorization, detail] of reasons) {
    const response = await app.send('GET /jb/sites/', { headers: { authorization } });
    assert.equal([response.statusCode, response.json().detail], [401, detail], authorization);
    assert.is(response.headers['www-authenticate'], 'Token');
  }
  const session = await app.send('GET /jb/sites/', { headers: { cookie: 'steward_session=unknown' } });
  assert.is(session.statusCode, 401);
  assert.is(session.json().detail, 'The session is invalid or expired. Log in again.');
});

responses('are the same for the schemes Token, Bearer and JWT in any case', async ({ app }) => {
  const token = await app.tokenOf(ADA);
  for (const scheme of ['Token', 'token', 'TOKEN', 'Bearer', 'JWT']) {
    const response = await app.send('GET /jb/sites/', { headers: { authorization: `${scheme} ${token}` } });
    assert.is(response.statusCode, 200, scheme);
  }
});

responses('contain the new filter after a PUT with return=representation', async ({ app }) => {
  await app.as(ADA).savedFilters.create({ stack_id: 'a0a91e46', hash: 'p1', name: 'One' });
  const payload = { stack_id: 'a0a91e46', hash: 'p2', name: 'Two' };
  const put = (hash: string, headers = {}) =>
    app.send(`PUT /hashr/saved_global_filters/${hash}/`, { as: ADA, payload, headers });
  const preferred = await put('p1', { prefer: 'return=representation' });
  const plain = await put('p2');

  assert.equal([preferred.statusCode, preferred.json().hash], [200, 'p2']);
  assert.is(preferred.headers['preference-applied'], 'return=representation');
  assert.equal([plain.statusCode, plain.body], [204, '']);
});

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const HTML = 'text/html; charset=utf-8';
const JSON_MEDIA = 'application/json; charset=utf-8';
const PROBLEM = 'application/problem+json; charset=utf-8';

responses('formats: ?format= overrides the Accept header, for failures too', async ({ app }) => {
  const unknown = '/jb/users/unknown@x.test/';
  for (const [path, accept, status, type] of [
    ['/jb/users/?format=json', BROWSER, 200, JSON_MEDIA],
    ['/jb/users/?format=json', 'image/png', 200, JSON_MEDIA],
    ['/jb/users/?format=csv', JSON_MEDIA, 200, 'text/csv; charset=utf-8'],
    ['/jb/users/?format=html', 'application/json', 200, HTML],
    ['/jb/users/?format=api', 'application/json', 200, HTML],
    ['/jb/users/?format=html&format=json', BROWSER, 200, JSON_MEDIA],
    ['/jb/users/?format=', BROWSER, 200, HTML],
    ['/jb/env/?format=json', BROWSER, 200, 'text/json; charset=utf-8'],
    ['/jb/env/', '*/*', 200, 'text/json; charset=utf-8'],
    ['/jb/env/', 'application/json', 200, JSON_MEDIA],
    [`${unknown}?format=json`, BROWSER, 404, PROBLEM],
    [`${unknown}?format=html`, '*/*', 404, HTML],
  ] as const) {
    const { statusCode, headers } = await app.send(`GET ${path}`, { as: ROOT, headers: { accept } });
    assert.equal([statusCode, headers['content-type']], [status, type], path);
  }
});

responses('formats: an unknown ?format= is answered with 406 and the available formats', async ({ app }) => {
  for (const [path, formats] of [
    ['/jb/users/?format=xml', 'json, csv, html'],
    ['/jb/users/?format=constructor', 'json, csv, html'],
    ['/jb/users/ada@acme.test/?format=csv', 'json, html'],
  ]) {
    const { statusCode, json } = await app.send(`GET ${path}`, { as: ROOT });
    assert.equal([statusCode, json().detail], [406, `\`format\` must be one of: ${formats}.`]);
  }
});

responses('formats: the token endpoints always answer JSON, and ignore Authorization', async ({ app }) => {
  for (const [path, key] of [
    ['/api-token-auth/', 'username'],
    ['/jb/api-token-auth/', 'email'],
  ])
    for (const accept of [BROWSER, 'image/png', undefined])
      for (const query of ['', '?format=xml']) {
        const send = (payload: object | string, headers = {}) =>
          app.send(`POST ${path}${query}`, { payload, headers: { accept, ...headers } });
        const login = { [String(key)]: ADA, password: DEMO_PASSWORD };
        const right = await send(login, { authorization: 'Token 0000' });
        assert.is(right.statusCode, 200, `${path} ${accept}`);
        assert.is(right.headers['content-type'], JSON_MEDIA, `${path} ${accept}`);
        assert.is((await send('{')).headers['content-type'], PROBLEM, `${path} ${accept}`);
      }
  const wrongMethod = await app.send('GET /api-token-auth/', { headers: { accept: BROWSER } });
  assert.is(wrongMethod.headers['content-type'], PROBLEM);
});

responses('formats: only browsers get a page for text/html together with */*', async ({ app }) => {
  for (const [accept, type] of [
    ['text/html, image/gif, image/jpeg, */*; q=0.2', JSON_MEDIA],
    ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', JSON_MEDIA],
    ['text/html, */*', JSON_MEDIA],
    ['text/html;q=1.0, */*;q=0.1', JSON_MEDIA],
    ['text/html;q=0.5, application/json', JSON_MEDIA],
    [BROWSER, HTML],
    ['text/html, application/xhtml+xml, image/jxr, */*', HTML],
    ['text/html', HTML],
    ['text/html, application/json;q=0.9, */*;q=0.1', HTML],
  ]) {
    const { headers } = await app.send('GET /jb/sites/', { as: ROOT, headers: { accept } });
    assert.is(headers['content-type'], type, accept);
  }
});

const OF_DATA = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const picked = (headers: Record<string, unknown>) =>
  Object.fromEntries(Object.keys(OF_DATA).map((name) => [name, headers[name]]));

responses('security headers are set on every response, including failures', async ({ app }) => {
  const long = 'x'.repeat(2_000);
  const lines: [string, number][] = [
    ['GET /jb/sites/', 200],
    ['HEAD /jb/sites/', 200],
    ['OPTIONS /jb/sites/', 204],
    ['GET /nowhere/', 404],
    ['DELETE /jb/sites/', 405],
    ['GET /jb/users/%E0/', 400],
    [`GET /jb/users/${long}/`, 414],
    ['GET !/healthz', 200],
    ['GET !/trpc/sites.list?input={"json":{}}', 200],
    ['GET !/trpc/no.such', 404],
    ['PUT !/trpc/sites.list', 405],
  ];
  for (const [line, status] of lines) {
    const response = await app.send(line, { as: ADA });
    assert.is(response.statusCode, status, line);
    assert.equal(picked(response.headers), OF_DATA, line);
  }
});

responses('security headers are set on responses to oversized requests and invalid HTTP', async ({ app }) => {
  const large = await app.send('POST /api-token-auth/', { payload: { username: 'x'.repeat(1_100_000) } });
  assert.equal([large.statusCode, picked(large.headers)], [413, OF_DATA]);

  const answer = await sendRaw(app, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`);
  assert.match(answer, /^HTTP\/1\.1 431 /);
  for (const [name, value] of Object.entries(OF_DATA))
    assert.ok(answer.includes(`\r\n${name}: ${value}\r\n`), answer);
});

responses('security headers differ for pages and avatars', async ({ app }) => {
  const headers = { accept: 'text/html' };
  for (const path of ['/login/', '/nowhere/']) {
    const page = await app.send(`GET !${path}`, { headers });
    assert.match(String(page.headers['content-security-policy']), "form-action 'self'", path);
    assert.is(page.headers['referrer-policy'], 'strict-origin', path);
    assert.is(page.headers['x-frame-options'], 'DENY', path);
  }
  const avatar = await app.send('GET !/avatars/a.svg');
  assert.is(avatar.headers['cross-origin-resource-policy'], 'cross-origin', 'other sites may embed it');
});

responses('security headers include HSTS if the base URL is https', async ({ app }) => {
  const plain = await app.send('GET !/healthz');
  const secured = await startTestApp({ BASE_URL: 'https://steward.test' });
  const answer = await secured.send('GET !/healthz').finally(() => secured.close());

  assert.is(plain.headers['strict-transport-security'], undefined);
  assert.is(answer.headers['strict-transport-security'], 'max-age=31536000');
});

responses('security headers have none of CORS and of a rate limit by default', async ({ app }) => {
  const { headers } = await app.send('GET /jb/sites/', { as: ADA, headers: { origin: 'https://any.test' } });
  const names = Object.keys(headers).filter((name) => /^(access-control|ratelimit)/.test(name));

  assert.equal(names, []);
});

responses.run();
