import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, DEMO_PASSWORD, STAFF } from '../support/test-app.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

const bodies = appSuite('request bodies');

bodies('treats an empty body as {} for every content type', async ({ app }) => {
  for (const type of ['application-json', 'text/plain', 'application/json', 'multipart/form-data', ';;']) {
    const response = await app.send('POST /app/load/sales/', {
      as: STAFF,
      headers: { 'content-type': type },
    });
    assert.is(response.statusCode, 404, `${type}: ${response.body}`);
    assert.match(response.json().detail, /fetched package/);
  }
});

bodies('are not parsed before authentication', async ({ app }) => {
  const unreadable = { payload: 'not json', headers: { 'content-type': 'text/plain' } };
  for (const line of ['GET /jb/users/ada@acme.test/', 'GET /jb/sites/', 'POST /jb/users/']) {
    assert.is((await app.send(line, unreadable)).statusCode, 401);
  }
});

bodies('accepts a GET with a body', async ({ app }) => {
  const response = await app.send('GET /jb/sites/', { as: ADA, payload: '{}', headers: JSON_TYPE });

  assert.is(response.statusCode, 200);
});

bodies('answers another content type or charset with 415', async ({ app }) => {
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

bodies('names a form as the reason for 415', async ({ app }) => {
  for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    const response = await app.send('PATCH /jb/users/ada@acme.test/', {
      as: ACME,
      payload: 'first_name=Ada',
      headers: { 'content-type': type },
    });
    assert.is(
      response.json().detail,
      'The request body must be JSON (Content-Type: application/json), not a form.',
    );
  }
});

bodies('accepts every spelling of the charset UTF-8', async ({ app }) => {
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

bodies('answers malformed JSON, invalid UTF-8 and a wrong top-level type with 400', async ({ app }) => {
  for (const payload of ['{', '[]', '"text"', 'null', '1', '[{}]', Buffer.from([0x7b, 0xff, 0x7d])]) {
    const response = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload, headers: JSON_TYPE });
    assert.is(response.statusCode, 400, String(payload));
  }
});

bodies('trims email addresses and names of users, and no other strings', async ({ app }) => {
  const created = await app.send('POST /jb/users/', {
    as: ACME,
    payload: {
      email: ' Grete@Acme.test\t',
      first_name: ' Grete ',
      last_name: '\u00a0Hermann\n',
      extra: { a: ' x ' },
    },
  });
  const changed = await app.send('PATCH /jb/users/grete@acme.test/', {
    as: ACME,
    payload: { first_name: `${' '.repeat(200)}G. ` },
  });
  const label = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload: { label: ' Sales ' } });
  const client = await app.send('PATCH /jb/clients/1/', {
    as: ACME,
    payload: { support_email: ' help@acme.test ' },
  });
  const token = await app.send('POST /api-token-auth/', {
    payload: { username: ' ada@acme.test ', password: DEMO_PASSWORD },
  });

  assert.is(created.statusCode, 200, created.body);
  const { email, first_name, last_name, extra } = created.json();
  assert.equal([email, first_name, last_name, extra], ['grete@acme.test', 'Grete', 'Hermann', { a: ' x ' }]);
  assert.is(changed.json().first_name, 'G.');
  assert.is(label.json().label, ' Sales ');
  assert.is(client.json().support_email, 'help@acme.test');
  assert.is(token.statusCode, 200);
});

bodies('does not coerce JSON values', async ({ app }) => {
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

bodies(
  'ignores unknown and read-only keys, so that a client can send back a whole object',
  async ({ app }) => {
    const shown = (await app.send('GET /jb/clients/1/', { as: ACME })).json();

    const echoed = await app.send('PATCH /jb/clients/1/', {
      as: ACME,
      payload: { ...shown, id: 2, site: { domain: 'evil.test' }, login_title: 'New', unheard: 'of' },
    });

    assert.is(echoed.statusCode, 200, echoed.body);
    assert.equal(echoed.json(), { ...shown, login_title: 'New' });
  },
);

bodies('identifies the resource by the path, not by the body', async ({ app }) => {
  const response = await app.send(`PATCH /jb/users/${ADA}/`, {
    as: ACME,
    payload: { email: 'grace@acme.test', first_name: 'Changed' },
  });

  assert.is(response.json().email, ADA);
  assert.is((await app.send('GET /jb/users/grace@acme.test/', { as: ACME })).json().first_name, 'Grace');
});

bodies('keeps __proto__ as plain data in extra and ignores it elsewhere', async ({ app }) => {
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

bodies('answers more than 1 MiB with 413, but accepts 16 MiB of invitations', async ({ app }) => {
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

bodies('accepts urlencoded and multipart forms only on the token endpoint', async ({ app }) => {
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

bodies.run();
