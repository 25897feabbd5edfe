import * as assert from 'uvu/assert';
import { REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { fillLists, readEndpoints } from '../support/every-read.ts';
import { appSuite, ROOT, restPath, type TestApp } from '../support/test-app.ts';

const head = appSuite('HEAD and OPTIONS');
head.before(({ app }) => fillLists(app));

/** Leaves out what differs for each response: cookies, the request id, and the framing of the body. */
const comparable = ({ headers }: Awaited<ReturnType<TestApp['send']>>) => {
  const { date, 'x-request-id': id, 'set-cookie': cookies, 'transfer-encoding': _, ...rest } = headers;
  return { ...rest, hasDate: typeof date, hasId: typeof id, cookies: [cookies ?? []].flat().length };
};

const sameAsGet = async (app: TestApp, path: string, accept: string) => {
  const request = { as: ROOT, headers: { accept } };
  const got = await app.send(`GET ${path}`, request);
  const asked = await app.send(`HEAD ${path}`, request);

  assert.is(asked.statusCode, got.statusCode, path);
  assert.is(asked.body, '', path);
  assert.equal(comparable(asked), comparable(got), `${path} as ${accept}`);
  return got;
};

head('has the status and headers of GET for every read, without a body', async ({ app }) => {
  for (const { path, endpoint } of readEndpoints()) {
    const got = await sameAsGet(app, path, '*/*');
    assert.is(got.statusCode, 200, path);
    // The length of a download is known at its end.
    if (!endpoint.rest.download) assert.ok(got.headers['content-length'] !== undefined, path);
    if (endpoint.csv !== null) await sameAsGet(app, path, 'text/csv');
  }
});

head('has the status and headers of GET for failures and pages', async ({ app }) => {
  for (const path of [
    '/jb/users/?page=2&page_size=2',
    '/jb/users/?page=0',
    '/jb/users/unknown/',
    '/jb/none/',
  ]) {
    await sameAsGet(app, path, 'application/json');
  }
  await sameAsGet(app, '/jb/sites/1/', 'text/csv');
  for (const path of [
    '!/healthz',
    '!/readyz',
    '/status/',
    '!/avatars/a.svg',
    '!/api/v1/csrf/',
    '!/login/',
    '!/nothing',
  ]) {
    await sameAsGet(app, path, '*/*');
  }
});

head('answers 401 without credentials, like GET', async ({ app }) => {
  const { statusCode, headers } = await app.send('HEAD /jb/users/');

  assert.equal([statusCode, headers['www-authenticate']], [401, 'Token']);
});

head('OPTIONS lists the methods of every path', async ({ app }) => {
  const paths = Map.groupBy(REST_ENDPOINTS, ({ url }) => url);
  assert.ok(paths.size > 30);
  for (const [url, endpoints] of paths) {
    const methods = endpoints.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const path = restPath(url).replaceAll(/:\w+/g, '1');
    const { statusCode, headers, body } = await app.send(`OPTIONS ${path}`);
    const allowed = String(headers.allow).split(', ');

    assert.equal([statusCode, body], [204, ''], path);
    assert.equal(allowed.toSorted(), [...methods, 'OPTIONS'].toSorted(), path);
    assert.is(allowed.includes('HEAD'), allowed.includes('GET'), path);
  }
});

head.run();
