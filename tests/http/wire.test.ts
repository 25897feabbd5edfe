import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACME, ADA, DEMO_PASSWORD, ROOT, STAFF, startTestApp, type TestApp } from '../support/test-app.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

const paths = suite<{ app: TestApp }>('paths and methods');
const bodies = suite<{ app: TestApp }>('request bodies');
const answers = suite<{ app: TestApp }>('answers');
const all = [paths, bodies, answers];

let shared: TestApp;
all[0]?.before(async () => {
  shared = await startTestApp();
});
for (const part of all) {
  part.before((context) => {
    context.app = shared;
  });
}
all.at(-1)?.after(() => shared.close());

paths('serves a path without its slash too, for every method', async ({ app }) => {
  const read = await app.send('GET /jb/sites', { as: ADA });
  const written = await app.send('PATCH /jb/apps/zylTKNVx', { as: ACME, payload: { label: 'Sold' } });

  assert.is(read.statusCode, 200);
  assert.is(written.json().label, 'Sold');
});

paths('decodes parameters, and takes + for itself', async ({ app }) => {
  await app.send('POST /jb/users/', { as: ACME, payload: { email: 'a+b@x.com' } });

  assert.is((await app.send('GET /jb/users/a%2Bb%40x.com/', { as: ACME })).json().email, 'a+b@x.com');
  assert.is((await app.send('GET /jb/users/a+b@x.com/', { as: ACME })).statusCode, 200);
  assert.is((await app.send('GET /jb/users/A%2BB%40X.COM/', { as: ACME })).statusCode, 200);
});

paths('refuses malformed encoding with 400', async ({ app }) => {
  const response = await app.send('GET /jb/users/%E0%A4%A/', { as: ACME });

  assert.is(response.statusCode, 400);
  assert.match(String(response.headers['content-type']), 'application/problem+json');
});

paths('is case-sensitive', async ({ app }) => {
  assert.is((await app.send('GET /JB/sites/', { as: ADA })).statusCode, 404);
});

paths('never takes a fixed segment for a user', async ({ app }) => {
  for (const method of ['PATCH', 'DELETE', 'PUT']) {
    const response = await app.send(`${method} /jb/users/invitations/`, { as: ROOT, payload: {} });
    assert.is(response.statusCode, 405, method);
    assert.is(response.headers.allow, 'GET, HEAD, POST, OPTIONS');
  }
});

paths('answers 404 for an unknown path and 405 with Allow for a wrong method', async ({ app }) => {
  const unknown = await app.send('GET /jb/nothing/', { as: ADA });
  const wrong = await app.send('DELETE /jb/sites/', { as: ADA });
  const rare = await app.send('PROPFIND /jb/sites/', { as: ADA });

  assert.is(unknown.statusCode, 404);
  assert.is(wrong.statusCode, 405);
  assert.is(wrong.headers.allow, 'GET, HEAD, POST, OPTIONS');
  assert.is(rare.statusCode, 405);
});

paths('answers HEAD as GET without a body, and OPTIONS with Allow', async ({ app }) => {
  const head = await app.send('HEAD /jb/sites/', { as: ADA });
  const options = await app.send('OPTIONS /jb/clients/1/');

  assert.is(head.statusCode, 200);
  assert.is(head.body, '');
  assert.is(options.statusCode, 204);
  assert.is(options.headers.allow, 'GET, HEAD, PATCH, OPTIONS');
});

paths('answers the same beside the API', async ({ app }) => {
  for (const path of ['/healthz', '/readyz', '/avatars/a.svg', '/api/v1/csrf/']) {
    const wrong = await app.send(`POST !${path}`);
    const options = await app.send(`OPTIONS !${path}`);
    assert.equal([wrong.statusCode, wrong.headers.allow], [405, 'GET, HEAD, OPTIONS'], path);
    assert.is(options.headers.allow, 'GET, HEAD, OPTIONS');
  }
  for (const method of ['PUT', 'HEAD']) {
    const wrong = await app.send(`${method} !/trpc/users.list`, { as: ADA });
    assert.equal([wrong.statusCode, wrong.headers.allow], [405, 'GET, POST, OPTIONS'], method);
  }
});

paths('survives odd paths', async ({ app }) => {
  for (const url of ['//', '/api/v1//jb/sites/', '/api/v1/jb/sites//', '/%00', `/${'a'.repeat(5000)}`]) {
    const response = await app.send(`GET !${url}`, { as: ADA });
    assert.ok(response.statusCode >= 400 && response.statusCode < 500, `${url}: ${response.statusCode}`);
  }
});

paths('finds nobody under an over-long or impossible address', async ({ app }) => {
  assert.is((await app.send('GET /jb/users/nobody/', { as: ACME })).statusCode, 404);
  assert.is((await app.send(`GET /jb/users/${'a'.repeat(2000)}/`, { as: ACME })).statusCode, 414);
  assert.is((await app.send('GET /jb/users/a%00@acme.test/', { as: ACME })).statusCode, 400);
});

paths('reads numbers of the path strictly', async ({ app }) => {
  for (const id of ['abc', '1.5', '0x1', '1e0', '%201']) {
    const response = await app.send(`GET /jb/clients/${id}/`, { as: ROOT });
    assert.is(response.statusCode, 400, id);
    assert.ok(response.json().errors.id, id);
  }
  for (const id of ['0', '-1', '9', '99999999999', '9'.repeat(40)]) {
    assert.is((await app.send(`GET /jb/clients/${id}/`, { as: ROOT })).statusCode, 404, id);
  }
});

bodies('takes no body for {} whatever its content type says', async ({ app }) => {
  for (const type of ['application-json', 'text/plain', 'application/json', 'multipart/form-data', ';;']) {
    const response = await app.send('POST /app/load/sales/', {
      as: STAFF,
      headers: { 'content-type': type },
    });
    assert.is(response.statusCode, 404, `${type}: ${response.body}`);
    assert.match(response.json().detail, /fetched package/);
  }
});

bodies('takes a GET with a body', async ({ app }) => {
  const response = await app.send('GET /jb/sites/', { as: ADA, payload: '{}', headers: JSON_TYPE });

  assert.is(response.statusCode, 200);
});

bodies('refuses a body of another type or charset with 415', async ({ app }) => {
  const types = ['text/plain', 'application-json', 'application/x-www-form-urlencoded', 'application/xml'];
  for (const type of [...types, 'application/json; charset=latin1']) {
    const response = await app.send('PATCH /jb/apps/zylTKNVx/', {
      as: ACME,
      payload: '{"label":"x"}',
      headers: { 'content-type': type },
    });
    assert.is(response.statusCode, 415, type);
  }
});

bodies('takes any way of writing that the charset is UTF-8', async ({ app }) => {
  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json;',
  ]) {
    const response = await app.send('PATCH /jb/apps/zylTKNVx/', {
      as: ACME,
      payload: '{"label":"Größe"}',
      headers: { 'content-type': type },
    });
    assert.is(response.json().label, 'Größe', type);
  }
});

bodies('refuses malformed JSON, bad UTF-8 and the wrong top-level type with 400', async ({ app }) => {
  for (const payload of ['{', '[]', '"text"', 'null', '1', '[{}]', Buffer.from([0x7b, 0xff, 0x7d])]) {
    const response = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload, headers: JSON_TYPE });
    assert.is(response.statusCode, 400, String(payload));
  }
});

bodies('coerces nothing', async ({ app }) => {
  const payload = { show_help: 'false', in_maintenance: 1, label: 7, description: null };
  const response = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload });

  assert.is(response.statusCode, 400);
  assert.equal(Object.keys(response.json().errors).sort(), [
    'description',
    'in_maintenance',
    'label',
    'show_help',
  ]);
});

bodies('ignores unknown and read-only keys, so that a whole object may be echoed', async ({ app }) => {
  const shown = (await app.send('GET /jb/clients/1/', { as: ACME })).json();

  const echoed = await app.send('PATCH /jb/clients/1/', {
    as: ACME,
    payload: { ...shown, id: 2, site: { domain: 'evil.test' }, login_title: 'New', unheard: 'of' },
  });

  assert.is(echoed.statusCode, 200, echoed.body);
  assert.equal(echoed.json(), { ...shown, login_title: 'New' });
});

bodies('believes the path, not the body, about who is meant', async ({ app }) => {
  const response = await app.send(`PATCH /jb/users/${ADA}/`, {
    as: ACME,
    payload: { email: 'grace@acme.test', first_name: 'Changed' },
  });

  assert.is(response.json().email, ADA);
  assert.is((await app.send('GET /jb/users/grace@acme.test/', { as: ACME })).json().first_name, 'Grace');
});

bodies('treats __proto__ as plain data in extra and as nothing elsewhere', async ({ app }) => {
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

bodies('refuses more than 1 MiB with 413, and takes 16 MiB of invitations', async ({ app }) => {
  const large = JSON.stringify({ label: 'x'.repeat(1024 * 1024) });
  const refused = await app.send('PATCH /jb/apps/zylTKNVx/', {
    as: ACME,
    payload: large,
    headers: JSON_TYPE,
  });
  const payload = `[${' '.repeat(2 * 1024 * 1024)}]`;
  const taken = await app.send('POST /jb/users/invitations/', { as: ACME, payload, headers: JSON_TYPE });

  assert.is(refused.statusCode, 413);
  assert.is(taken.statusCode, 200);
  assert.is(taken.body, '[]');
});

bodies('takes forms on the token endpoint, urlencoded and multipart, and nowhere else', async ({ app }) => {
  const urlencoded = await app.send('POST /api-token-auth/', {
    payload: new URLSearchParams({ username: 'ADA@acme.test', password: DEMO_PASSWORD }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  const form = new FormData();
  form.set('username', ADA);
  form.set('password', DEMO_PASSWORD);
  const encoded = new Response(form);
  const multipart = await app.send('POST /api-token-auth/', {
    payload: Buffer.from(await encoded.arrayBuffer()),
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
  });
  const broken = await app.send('POST /api-token-auth/', {
    payload: 'no boundary here',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  });

  assert.match(urlencoded.json().token, /^[0-9a-f]{40}$/);
  assert.match(multipart.json().token, /^[0-9a-f]{40}$/);
  assert.is(broken.statusCode, 400);
});

answers('takes Accept that allows JSON, and answers 406 to all else', async ({ app }) => {
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

answers('refuses an unacceptable request before it does anything', async ({ app }) => {
  const response = await app.send('POST /jb/users/', {
    as: ACME,
    payload: { email: 'unmade@acme.test' },
    headers: { accept: 'image/png' },
  });

  assert.is(response.statusCode, 406);
  assert.is((await app.send('GET /jb/users/unmade@acme.test/', { as: ACME })).statusCode, 404);
});

answers('offers the environment as text/json first, and as application/json by name', async ({ app }) => {
  const typeFor = async (accept?: string) =>
    (await app.send('GET /jb/env/', { as: ROOT, headers: { accept } })).headers['content-type'];

  assert.is(await typeFor(), 'text/json; charset=utf-8');
  assert.is(await typeFor('*/*'), 'text/json; charset=utf-8');
  assert.is(await typeFor('application/json'), 'application/json; charset=utf-8');
});

answers('carries Vary and a request id always, and keeps a well-formed id', async ({ app }) => {
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

answers('tells a failure as problem+json with every field at once', async ({ app }) => {
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
    detail: 'Some of the input is not valid.',
    instance: 'r1',
  });
  assert.equal(Object.keys(errors).sort(), ['apps', 'email', 'is_demo_user']);
  assert.match(errors.apps[0], /^apps\.1: /);
});

answers('asks for a token with 401, whichever scheme or fault', async ({ app }) => {
  const token = await app.tokenOf(ADA);
  for (const authorization of [undefined, 'Token', 'Token wrong', `Basic ${token}`, `Token ${token}x`]) {
    const response = await app.send('GET /jb/sites/', { headers: { authorization } });
    assert.is(response.statusCode, 401, authorization);
    assert.is(response.headers['www-authenticate'], 'Token');
  }
  for (const scheme of ['Token', 'token', 'TOKEN', 'Bearer', 'JWT']) {
    const response = await app.send('GET /jb/sites/', { headers: { authorization: `${scheme} ${token}` } });
    assert.is(response.statusCode, 200, scheme);
  }
});

answers('refuses the unknown caller before reading what they send', async ({ app }) => {
  const response = await app.send('POST /jb/users/invitations/', { payload: '{broken', headers: JSON_TYPE });

  assert.is(response.statusCode, 401);
});

answers('ignores Authorization where tokens are made', async ({ app }) => {
  const response = await app.send('POST /api-token-auth/', {
    payload: { username: ADA, password: DEMO_PASSWORD },
    headers: { authorization: 'Token 0000' },
  });

  assert.is(response.statusCode, 200);
});

answers('answers a PUT with the new filter where that is preferred', async ({ app }) => {
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

for (const part of all) part.run();
