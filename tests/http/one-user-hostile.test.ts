import * as assert from 'uvu/assert';
import { ADA, appSuite, ROOT } from '../support/test-app.ts';

const hostile = appSuite('malformed email addresses');

/** NUL, a lone surrogate, quotes of PostgreSQL arrays, and an overlong address. */
const NONE = ['a%00b@x.test', '%ED%A0%80@x.test', `x%5C%22%7B%7D,'@x.test`, '%F0%9F%98%80', 'x'.repeat(300)];

hostile('do not fail the request nor other lookups of the same batch', async ({ app }) => {
  await app.tokenOf(ROOT);
  const paths = NONE.flatMap((address) => [address, ADA]);
  const responses = await Promise.all(
    paths.map((address) => app.send(`GET /jb/users/${address}/`, { as: ROOT })),
  );

  for (const [index, { statusCode }] of responses.entries()) {
    if (paths[index] === ADA) assert.is(statusCode, 200);
    else assert.ok(statusCode === 400 || statusCode === 404, `${paths[index]}: ${statusCode}`);
  }
});

hostile.run();
