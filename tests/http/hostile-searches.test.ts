import * as assert from 'uvu/assert';
import { ACME, appSuite, ROOT } from '../support/test-app.ts';

const searches = appSuite('searches of whole lists, whose values are literals of COPY');

const PATHS = ['/jb/users/', '/jb/apps/', '/jb/access-views/'];
const VALUES = ['a\0b', "';drop table users;--", '\\', "\\'", "E'\\n", '$1', '?', '%_\\\\', '😀'];

for (const value of VALUES)
  searches(`${JSON.stringify(value)} finds what it finds in a page`, async ({ app }) => {
    for (const as of [ROOT, ACME])
      for (const path of PATHS) {
        const url = `GET ${path}?search=${encodeURIComponent(value)}`;
        const whole = await app.send(url, { as });
        const page = await app.send(`${url}&page=1&page_size=100`, { as });

        assert.is(whole.statusCode, page.statusCode, path);
        if (whole.statusCode === 200) assert.is(whole.body, page.body, path);
        else assert.is(whole.statusCode, 400, whole.body);
      }
  });

searches.run();
