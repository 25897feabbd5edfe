import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, ROOT } from '../support/test-app.ts';

const paths = appSuite('paths and methods');

paths('are served without the trailing slash, too, for every method', async ({ app }) => {
  const read = await app.send('GET /jb/sites', { as: ADA });
  const written = await app.send('PATCH /jb/apps/zylTKNVx', { as: ACME, payload: { label: 'Sold' } });

  assert.is(read.statusCode, 200);
  assert.is(written.json().label, 'Sold');
});

paths('decode parameters and keep + as it is', async ({ app }) => {
  await app.send('POST /jb/users/', { as: ACME, payload: { email: 'a+b@x.com' } });

  assert.is((await app.send('GET /jb/users/a%2Bb%40x.com/', { as: ACME })).json().email, 'a+b@x.com');
  assert.is((await app.send('GET /jb/users/a+b@x.com/', { as: ACME })).statusCode, 200);
  assert.is((await app.send('GET /jb/users/A%2BB%40X.COM/', { as: ACME })).statusCode, 200);
});

paths('answer malformed percent-encoding with 400', async ({ app }) => {
  const response = await app.send('GET /jb/users/%E0%A4%A/', { as: ACME });

  assert.is(response.statusCode, 400);
  assert.match(String(response.headers['content-type']), 'application/problem+json');
});

paths('answer 404 if they do not exist, with the place of the REST paths', async ({ app }) => {
  for (const line of ['GET !/jb/users/', 'GET /jb/userz/']) {
    const response = await app.send(line, { as: ACME });

    assert.is(response.statusCode, 404, line);
    assert.is(response.json().detail, 'No such path. REST paths begin with /api/v1/: see /docs/.', line);
  }
});

paths('are case-sensitive', async ({ app }) => {
  assert.is((await app.send('GET /JB/sites/', { as: ADA })).statusCode, 404);
});

paths('do not match a fixed segment as a user', async ({ app }) => {
  for (const method of ['PATCH', 'DELETE', 'PUT']) {
    const response = await app.send(`${method} /jb/users/invitations/`, { as: ROOT, payload: {} });
    assert.is(response.statusCode, 405, method);
    assert.is(response.headers.allow, 'GET, HEAD, POST, OPTIONS');
  }
});

paths('answer 404 for an unknown path and 405 with Allow for a wrong method', async ({ app }) => {
  const unknown = await app.send('GET /jb/nothing/', { as: ADA });
  const wrong = await app.send('DELETE /jb/sites/', { as: ADA });
  const rare = await app.send('PROPFIND /jb/sites/', { as: ADA });

  assert.is(unknown.statusCode, 404);
  assert.is(wrong.statusCode, 405);
  assert.is(wrong.headers.allow, 'GET, HEAD, POST, OPTIONS');
  assert.is(rare.statusCode, 405);
});

paths('answer HEAD like GET without a body, and OPTIONS with Allow', async ({ app }) => {
  const head = await app.send('HEAD /jb/sites/', { as: ADA });
  const options = await app.send('OPTIONS /jb/clients/1/');

  assert.is(head.statusCode, 200);
  assert.is(head.body, '');
  assert.is(options.statusCode, 204);
  assert.is(options.headers.allow, 'GET, HEAD, PATCH, OPTIONS');
});

paths('follow the same rules outside the API', async ({ app }) => {
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

paths('do not fail for odd paths', async ({ app }) => {
  // Without the empty last segment it is the home page, which redirects to the login.
  assert.is((await app.send('GET !//')).headers.location, '/login/');
  for (const url of ['/api/v1//jb/sites/', '/api/v1/jb/sites//', '/%00', `/${'a'.repeat(5000)}`]) {
    const response = await app.send(`GET !${url}`, { as: ADA });
    assert.ok(response.statusCode >= 400 && response.statusCode < 500, `${url}: ${response.statusCode}`);
  }
});

paths('answer 404 for an overlong or impossible email address', async ({ app }) => {
  assert.is((await app.send('GET /jb/users/unknown/', { as: ACME })).statusCode, 404);
  assert.is((await app.send(`GET /jb/users/${'a'.repeat(2000)}/`, { as: ACME })).statusCode, 414);
  assert.is((await app.send('GET /jb/users/a%00@acme.test/', { as: ACME })).statusCode, 400);
});

paths('parse numbers strictly', async ({ app }) => {
  for (const id of ['abc', '1.5', '0x1', '1e0', '%201']) {
    const response = await app.send(`GET /jb/clients/${id}/`, { as: ROOT });
    assert.is(response.statusCode, 400, id);
    assert.ok(response.json().errors.id, id);
  }
  for (const id of ['0', '-1', '9', '99999999999', '9'.repeat(40)]) {
    assert.is((await app.send(`GET /jb/clients/${id}/`, { as: ROOT })).statusCode, 404, id);
  }
});

paths.run();
