import * as assert from 'uvu/assert';
import { setRows } from '../support/rows.ts';
import { appSuite, ROOT } from '../support/test-app.ts';
import { addUsers } from '../support/users.ts';

const table = appSuite('users.table');

table('neither loses nor repeats users whose key changes while it is read', async ({ app }) => {
  await addUsers(app, 2_500);
  const before = (await app.as(ROOT).users.list({ sort: 'email', limit: 200 })).map(({ email }) => email);
  const seen: (string | undefined)[] = [];
  for await (const users of await app.as(ROOT).users.table({ sort: 'email', columns: 'email' })) {
    // A user of the last page moves to the front, which has been read.
    if (seen.length === 0) await setRows(app, 'users', { email: 'm999@many.test' }, { email: '0@many.test' });
    seen.push(...users.map(({ email }) => email));
  }
  const { count } = await app.as(ROOT).users.count({});

  assert.equal(seen.slice(0, before.length), before);
  assert.is(seen.length, count);
  assert.is(new Set(seen).size, count);
  assert.ok(seen.indexOf('0@many.test') > 2_000);
  await app.db().deleteFrom('users').where('email', 'like', '%@many.test').execute();
});

table.run();
