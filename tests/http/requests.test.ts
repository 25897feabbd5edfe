import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, DEMO_PASSWORD, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
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

requests('paths answer malformed percent-encoding with 400', async ({ app }) => {
  const response = await app.send('GET /jb/users/%E0%A4%A/', { as: ACME });

  assert.is(response.statusCode, 400);
  assert.match(String(response.headers['content-type']), 'application/problem+json');
});

requests('paths answer 404 if they do not exist, with the place of the REST paths', async ({ app }) => {
  for (const line of ['GET !/jb/users/', 'GET /jb/userz/']) {
    const response = await app.send(line, { as: ACME });

    assert.is(response.statusCode, 404, line);
    assert.is(response.json().detail, 'No such path. REST paths begin with /api/v1/: see /docs/.', line);
  }
});

requests('paths are case-sensitive', async ({ app }) => {
  assert.is((await app.send('GET /JB/sites/', { as: ADA })).statusCode, 404);
});

requests('paths do not match a fixed segment as a user', async ({ app }) => {
  for (const method of ['PATCH', 'DELETE', 'PUT']) {
    const response = await app.send(`${method} /jb/users/invitations/`, { as: ROOT, payload: {} });
    assert.is(response.statusCode, 405, method);
    assert.is(response.headers.allow, 'GET, HEAD, POST, OPTIONS');
  }
});

requests('paths answer 404 for an unknown path and 405 with Allow for a wrong method', async ({ app }) => {
  const unknown = await app.send('GET /jb/nothing/', { as: ADA });
  const wrong = await app.send('DELETE /jb/sites/', { as: ADA });
  const rare = await app.send('PROPFIND /jb/sites/', { as: ADA });

  assert.is(unknown.statusCode, 404);
  assert.is(wrong.statusCode, 405);
  assert.is(wrong.headers.allow, 'GET, HEAD, POST, OPTIONS');
  assert.is(rare.statusCode, 405);
});

requests('paths follow the same rules outside the API', async ({ app }) => {
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

requests('paths do not fail for odd paths', async ({ app }) => {
  // Without the empty last segment it is the home page, which redirects to the login.
  assert.is((await app.send('GET !//')).headers.location, '/login/');
  for (const url of ['/api/v1//jb/sites/', '/api/v1/jb/sites//', '/%00', `/${'a'.repeat(5000)}`]) {
    const response = await app.send(`GET !${url}`, { as: ADA });
    assert.ok(response.statusCode >= 400 && response.statusCode < 500, `${url}: ${response.statusCode}`);
  }
});

requests('paths answer 404 for an overlong or impossible email address', async ({ app }) => {
  assert.is((await app.send('GET /jb/users/unknown/', { as: ACME })).statusCode, 404);
  assert.is((await app.send(`GET /jb/users/${'a'.repeat(2000)}/`, { as: ACME })).statusCode, 414);
  assert.is((await app.send('GET /jb/users/a%00@acme.test/', { as: ACME })).statusCode, 400);
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

requests('bodies: accepts a GET with a body', async ({ app }) => {
  const response = await app.send('GET /jb/sites/', { as: ADA, payload: '{}', headers: JSON_TYPE });

  assert.is(response.statusCode, 200);
});

requests('bodies: answers another content type or charset with 415', async ({ app }) => {
  const types = ['text/plain', 'application-json', 'application/xml'];
  for (const type of [...types, 'application/json; charset=latin1']) {
    const response = await app.send('PATCH /jb/apps/zylTKNVx/', {
      as: ACME,
      payload: '{"label":"x"}',
      headers: { 'content-type': type },
    });
    assert.is(response.statusCode, 415, type);
  }
});

requests('bodies: accepts every spelling of the charset UTF-8', async ({ app }) => {
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

requests(
  'bodies: answers malformed JSON, invalid UTF-8 and a wrong top-level type with 400',
  async ({ app }) => {
    for (const payload of ['{', '[]', '"text"', 'null', '1', '[{}]', Buffer.from([0x7b, 0xff, 0x7d])]) {
      const response = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload, headers: JSON_TYPE });
      assert.is(response.statusCode, 400, String(payload));
    }
  },
);

requests('bodies: trims email addresses and names of users, and no other strings', async ({ app }) => {
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

requests('bodies: does not coerce JSON values', async ({ app }) => {
  const payload = { show_help: 'no', in_maintenance: 1, label: 7, description: null };
  const response = await app.send('PATCH /jb/apps/zylTKNVx/', { as: ACME, payload });

  assert.is(response.statusCode, 400);
  assert.equal(Object.keys(response.json().errors).sort(), [
    'description',
    'in_maintenance',
    'label',
    'show_help',
  ]);
});

requests(
  'bodies: ignores unknown and read-only keys, so that a client can send back a whole object',
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

requests('bodies: identifies the resource by the path, not by the body', async ({ app }) => {
  const response = await app.send(`PATCH /jb/users/${ADA}/`, {
    as: ACME,
    payload: { email: 'grace@acme.test', first_name: 'Changed' },
  });

  assert.is(response.json().email, ADA);
  assert.is((await app.send('GET /jb/users/grace@acme.test/', { as: ACME })).json().first_name, 'Grace');
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

const PATH = `POST /jb/apps/${SALES}/usage/`;

const entry = (extra: string) => `{"email":"${ADA}","action":"X","extra":${extra}}`;

const repeated = (text: string, times: number) => Array.from({ length: times }, () => text).join(',');

const headers = { 'content-type': 'application/json' };

requests('JSON: refuses bodies with too many values before parsing, over REST and tRPC', async ({ app }) => {
  // Neither is valid JSON, which a parser would report first.
  const bodies = {
    'empty arrays': `[${repeated(entry(`{"a":[${repeated('[]', 1_300)}]}`), 480)}`,
    'empty entries': `[${repeated('{}', 600_000)}`,
  };
  for (const [name, payload] of Object.entries(bodies)) {
    const rest = await app.send(PATH, { as: STAFF, payload, headers });
    const rpc = await app.send('POST !/trpc/usage.record', {
      as: STAFF,
      payload: `{"json":{"app_id":"${SALES}","entries":${payload}}}`,
      headers,
    });

    assert.equal([rest.statusCode, rpc.statusCode], [400, 400], name);
    assert.match(rest.json().errors.body[0], /500000 values/, name);
    assert.match(rpc.body, /500000 values/, name);
  }
});

requests('JSON: accepts many usage entries and large strings', async ({ app }) => {
  const entries = `[${repeated(entry('{"request":{"path":"/a/","META":{"QUERY_STRING":"a=1,2,3"}}}'), 2_000)}]`;
  const texts = `[${repeated(entry(JSON.stringify({ text: 'x'.repeat(60_000) })), 25)}]`;

  assert.equal((await app.send(PATH, { as: STAFF, payload: entries, headers })).json().inserted, 2_000);
  assert.equal((await app.send(PATH, { as: STAFF, payload: texts, headers })).json().inserted, 25);
});

/** Writes bytes to a socket of the service and returns the whole response. */
const sendRaw = async (app: TestApp, bytes: string): Promise<string> => {
  if (!app.server.server.listening) await app.server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = new URL(app.server.listeningOrigin);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(bytes);
  return text(socket);
};

requests('errors of HTTP: answers invalid HTTP with a problem and closes the connection', async ({ app }) => {
  const answer = await sendRaw(app, 'HELLO\r\n\r\n');

  assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
  assert.match(answer, 'application/problem+json');
  assert.match(answer, 'urn:steward:problem:malformed-request');
});

requests('errors of HTTP: requires a Host header in HTTP/1.1, but not in HTTP/1.0', async ({ app }) => {
  const line = (version: string) => `GET /healthz HTTP/${version}\r\nConnection: close\r\n\r\n`;

  assert.match(await sendRaw(app, line('1.1')), /^HTTP\/1\.1 400 /);
  assert.match(await sendRaw(app, line('1.0')), /^HTTP\/1\.1 200 /);
});

requests('errors of HTTP: answers endless headers with 431', async ({ app }) => {
  const answer = await sendRaw(app, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`);

  assert.match(answer, /^HTTP\/1\.1 431 /);
});

requests(
  'errors of HTTP: keeps serving others after a caller disconnects in the middle of a body',
  async ({ app }) => {
    await sendRaw(app, 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const { port } = new URL(app.server.listeningOrigin);
    for (let n = 0; n < 50; n += 1) {
      const socket = connect(Number(port), '127.0.0.1');
      await once(socket, 'connect');
      socket.write('POST /api/v1/api-token-auth/ HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n{"user');
      socket.destroy();
    }

    assert.is((await app.send('GET /jb/sites/', { as: ADA })).statusCode, 200);
  },
);

requests(
  'errors of HTTP: does not answer a complete request with the error of the next one',
  async ({ app }) => {
    const body = JSON.stringify({ username: ADA, password: DEMO_PASSWORD });
    const login = `POST /api/v1/api-token-auth/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const answer = await sendRaw(app, `${login}GARBAGE\r\n\r\n`);

    assert.match(answer, /^HTTP\/1\.1 200 OK/);
    assert.match(answer, /"token":"[0-9a-f]{40}"/);
  },
);

requests('errors of HTTP: answers a malformed chunked body at once', async ({ app }) => {
  const head = 'POST /api/v1/api-token-auth/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';

  assert.match(await sendRaw(app, `${head}no chunk\r\n`), /^HTTP\/1\.1 400 /);
});

requests.run();
