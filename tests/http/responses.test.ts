import * as assert from 'uvu/assert';
import { problemDocument } from '../../src/http/rest/problem-document.ts';
import { invalid } from '../../src/lib/problems.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, ROOT } from '../support/test-app.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

const responses = appSuite('responses');

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
  const response = await app.send('POST /jb/users/', {
    as: ACME,
    payload: { email: 'unmade@acme.test' },
    headers: { accept: 'image/png' },
  });

  assert.is(response.statusCode, 406);
  assert.is((await app.send('GET /jb/users/unmade@acme.test/', { as: ACME })).statusCode, 404);
});

responses('prefer text/json for the environment, and application/json on request', async ({ app }) => {
  const typeFor = async (accept?: string) =>
    (await app.send('GET /jb/env/', { as: ROOT, headers: { accept } })).headers['content-type'];

  assert.is(await typeFor(), 'text/json; charset=utf-8');
  assert.is(await typeFor('*/*'), 'text/json; charset=utf-8');
  assert.is(await typeFor('application/json'), 'application/json; charset=utf-8');
});

responses('always have Vary and a request id, and keep a well-formed id', async ({ app }) => {
  const headers = { 'x-request-id': 'caller-7' };
  const lines = [
    'GET /jb/sites/',
    'GET /nowhere/',
    'DELETE /jb/sites/',
    'GET /jb/users/%E0/',
    'GET !/healthz',
  ];
  for (const line of lines) {
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
  assert.is(response.headers['content-type'], 'application/problem+json; charset=utf-8');
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
  const details: [path: string, payload: object, detail: string][] = [
    ['/jb/users/', { email: 'no address' }, 'email: Must be an email address.'],
    [
      '/jb/users/',
      { email: 'a@x.test', apps: ['zylTKNVx', 'bad', 'x'] },
      'apps.1: Must be 8 letters or digits. (and 1 more error)',
    ],
    [
      '/jb/users/invitations/',
      [{ email: 'a@x.test', client: 1, initial_apps: [] }, { email: 'b', client: 1, initial_apps: [] }, {}],
      'Element 1, email: Must be an email address. (and 1 more error)',
    ],
    [
      '/jb/users/invitations/',
      { email: 'b', client: 1, initial_apps: [] },
      'email: Must be an email address.',
    ],
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
  assert.is(weak.json().detail, 'new_password: At least 8 characters. (and 1 more error)');
  for (const { body } of [weak, broken]) assert.not.match(body, /secret7|steward-demo/);
  assert.ok(JSON.parse(long).detail.length <= 500);
});

responses('name the place or the character where a body is no JSON', async ({ app }) => {
  const bodies: [body: string, detail: string][] = [
    ['{"label": "ä", show}', 'The body is not valid JSON: error in line 1 column 16.'],
    ['{\n  "label": "x",\n}', 'The body is not valid JSON: error in line 3 column 1.'],
    ['{"label": NaN}', "The body is not valid JSON: unexpected token 'N'."],
    ["{'label': 'x'}", 'The body is not valid JSON: error in line 1 column 2.'],
    ['{"label":\r\n "x"', 'The body is not valid JSON: error in line 2 column 5.'],
    ['{"label": tru', 'The body is not valid JSON: unexpected end of JSON input.'],
    ['{"label": "x"} {}', 'The body is not valid JSON: error in line 1 column 16.'],
    ['{"label": "\t"}', 'The body is not valid JSON: error in line 1 column 12.'],
    [
      `{"label": "${'x\\n'.repeat(50_000)}",\n"a" 1}`,
      'The body is not valid JSON: error in line 2 column 5.',
    ],
  ];
  for (const [payload, detail] of bodies) {
    const response = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload, headers: JSON_TYPE });
    assert.equal([response.statusCode, response.json().detail], [400, detail]);
  }
  const payload = Buffer.from([0x7b, 0xff, 0x7d]);
  const latin = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload, headers: JSON_TYPE });
  assert.is(latin.json().detail, 'The body is not valid UTF-8.');
});

responses(
  'are 401 with the reason and what to do, for missing, unknown and invalid credentials',
  async ({ app }) => {
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
    assert.equal(
      [session.statusCode, session.json().detail],
      [401, 'The session is invalid or expired. Log in again.'],
    );
  },
);

responses('are the same for the schemes Token, Bearer and JWT in any case', async ({ app }) => {
  const token = await app.tokenOf(ADA);
  for (const scheme of ['Token', 'token', 'TOKEN', 'Bearer', 'JWT']) {
    const response = await app.send('GET /jb/sites/', { headers: { authorization: `${scheme} ${token}` } });
    assert.is(response.statusCode, 200, scheme);
  }
});

responses('are 401 before the body is parsed', async ({ app }) => {
  const response = await app.send('POST /jb/users/invitations/', { payload: '{broken', headers: JSON_TYPE });

  assert.is(response.statusCode, 401);
});

responses('ignore Authorization on the token endpoints', async ({ app }) => {
  const response = await app.send('POST /api-token-auth/', {
    payload: { username: ADA, password: DEMO_PASSWORD },
    headers: { authorization: 'Token 0000' },
  });

  assert.is(response.statusCode, 200);
});

responses('contain the new filter after a PUT with return=representation', async ({ app }) => {
  await app.as(ADA).savedFilters.create({ stack_id: 'a0a91e46', hash: 'p1', name: 'One' });
  const payload = { stack_id: 'a0a91e46', hash: 'p2', name: 'Two' };

  const preferred = await app.send('PUT /hashr/saved_global_filters/p1/', {
    as: ADA,
    payload,
    headers: { prefer: 'return=representation' },
  });
  const plain = await app.send('PUT /hashr/saved_global_filters/p2/', { as: ADA, payload });

  assert.is(preferred.statusCode, 200);
  assert.is(preferred.json().hash, 'p2');
  assert.is(preferred.headers['preference-applied'], 'return=representation');
  assert.is(plain.statusCode, 204);
  assert.is(plain.body, '');
});

responses.run();
