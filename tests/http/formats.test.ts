import * as assert from 'uvu/assert';
import { ADA, appSuite, DEMO_PASSWORD, ROOT } from '../support/test-app.ts';

const formats = appSuite('?format= and Accept');

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const HTML = 'text/html; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

formats('?format= overrides the Accept header', async ({ app }) => {
  const typeFor = async (line: string, accept: string) => {
    const { statusCode, headers } = await app.send(line, { as: ROOT, headers: { accept } });
    return [statusCode, headers['content-type']];
  };

  assert.equal(await typeFor('GET /jb/users/?format=json', BROWSER), [200, JSON_TYPE]);
  assert.equal(await typeFor('GET /jb/users/?format=json', 'image/png'), [200, JSON_TYPE]);
  assert.equal(await typeFor('GET /jb/users/?format=csv', JSON_TYPE), [200, 'text/csv; charset=utf-8']);
  assert.equal(await typeFor('GET /jb/users/?format=html', 'application/json'), [200, HTML]);
  assert.equal(await typeFor('GET /jb/users/?format=api', 'application/json'), [200, HTML]);
  assert.equal(await typeFor('GET /jb/users/?format=html&format=json', BROWSER), [200, JSON_TYPE]);
  assert.equal(await typeFor('GET /jb/users/?format=', BROWSER), [200, HTML]);
  assert.equal(await typeFor('GET /jb/env/?format=json', BROWSER), [200, 'text/json; charset=utf-8']);
});

formats('?format= applies to failures, too', async ({ app }) => {
  const json = await app.send('GET /jb/users/unknown@x.test/?format=json', {
    as: ROOT,
    headers: { accept: BROWSER },
  });
  const page = await app.send('GET /jb/users/unknown@x.test/?format=html', { as: ROOT });

  assert.is(json.headers['content-type'], 'application/problem+json; charset=utf-8');
  assert.is(page.headers['content-type'], HTML);
  assert.equal([json.statusCode, page.statusCode], [404, 404]);
});

formats('an unknown ?format= is answered with 406 and the available formats', async ({ app }) => {
  const detailOf = async (line: string) => {
    const { statusCode, body } = await app.send(line, { as: ROOT });
    return [statusCode, JSON.parse(body).detail];
  };

  assert.equal(await detailOf('GET /jb/users/?format=xml'), [
    406,
    '`format` must be one of: json, csv, html.',
  ]);
  assert.equal(await detailOf('GET /jb/users/?format=constructor'), [
    406,
    '`format` must be one of: json, csv, html.',
  ]);
  assert.equal(await detailOf('GET /jb/users/ada@acme.test/?format=csv'), [
    406,
    '`format` must be one of: json, html.',
  ]);
});

formats('the token endpoints answer JSON regardless of Accept and ?format=', async ({ app }) => {
  const paths = { '/api-token-auth/': 'username', '/jb/api-token-auth/': 'email' };
  for (const [path, key] of Object.entries(paths)) {
    for (const accept of [BROWSER, 'text/html', 'text/csv', 'image/png', undefined]) {
      for (const query of ['', '?format=html', '?format=xml']) {
        const said = `${path}${query} ${accept}`;
        const send = (password: string) =>
          app.send(`POST ${path}${query}`, { payload: { [key]: ADA, password }, headers: { accept } });
        const right = await send(DEMO_PASSWORD);
        assert.equal([right.statusCode, right.headers['content-type']], [200, JSON_TYPE], said);
        const broken = await app.send(`POST ${path}${query}`, { payload: '{', headers: { accept } });
        assert.is(broken.headers['content-type'], 'application/problem+json; charset=utf-8', said);
      }
    }
  }
  const wrongMethod = await app.send('GET /api-token-auth/', { headers: { accept: BROWSER } });
  assert.is(wrongMethod.headers['content-type'], 'application/problem+json; charset=utf-8');
});

formats('only browsers get a page for text/html together with */*', async ({ app }) => {
  const typeFor = async (accept: string) =>
    (await app.send('GET /jb/sites/', { as: ROOT, headers: { accept } })).headers['content-type'];

  for (const accept of [
    'text/html, image/gif, image/jpeg, */*; q=0.2',
    'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
    'text/html, */*',
    'text/html;q=1.0, */*;q=0.1',
  ]) {
    assert.is(await typeFor(accept), JSON_TYPE, accept);
  }
  for (const accept of [
    BROWSER,
    'text/html, application/xhtml+xml, image/jxr, */*',
    'text/html',
    'text/html, application/json;q=0.9, */*;q=0.1',
  ]) {
    assert.is(await typeFor(accept), HTML, accept);
  }
});

formats.run();
