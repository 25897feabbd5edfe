import * as assert from 'uvu/assert';
import { ACME, appSuite, ROOT } from '../support/test-app.ts';

const searches = appSuite('searches of whole lists, whose values are literals of COPY');

const PATHS = ['/jb/users/', '/jb/apps/'];
const VALUES = ["';drop table users;--", '\\', "\\'", "E'\\n", '$1', '?', '%_\\\\', '😀'];

for (const value of VALUES)
  searches(`${JSON.stringify(value)} finds what it finds in a page`, async ({ app }) => {
    for (const as of [ROOT, ACME])
      for (const path of PATHS) {
        const url = `GET ${path}?search=${encodeURIComponent(value)}`;
        const whole = await app.send(url, { as });
        const page = await app.send(`${url}&page=1&page_size=100`, { as });

        assert.equal([whole.statusCode, page.statusCode], [200, 200], path);
        assert.is(whole.body, page.body, path);
      }
  });

searches('a NUL is refused, which would end the statement', async ({ app }) => {
  for (const path of PATHS) {
    const response = await app.send(`GET ${path}?search=a%00b`, { as: ROOT });

    assert.is(response.statusCode, 400, path);
    assert.match(response.body, 'search');
  }
});

searches.run();
