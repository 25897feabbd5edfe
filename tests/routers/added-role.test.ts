import { registerHooks } from 'node:module';
import * as assert from 'uvu/assert';

const ROW = `{ name: 'reporter', plural: 'reporters', actions: ['view'] },`;

// The recipe of docs/changes.md: a role is one row of this table.
registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context);
    if (!url.endsWith('/services/access/permissions.ts')) return loaded;
    const source = String(loaded.source).replace(/(?<=DELEGATED_ROLES = \[)/, ROW);
    return { ...loaded, source };
  },
});

const { ACME, ADA, appSuite, GRACE } = await import('../support/test-app.ts');

const added = appSuite('an added role');

added('can be given, counts, is filtered by and is ended, from its row alone', async ({ app }) => {
  const give = (roles: string[]) =>
    app.send('PUT /jb/clients/1/roles/ada@acme.test/', { as: ACME, payload: { roles } });

  assert.is((await give(['reporter'])).statusCode, 200);
  assert.is((await app.as(ADA).users.list({})).length, 4);
  assert.is(
    (await app.send('PATCH /jb/clients/1/', { as: ADA, payload: { login_title: 'Hi' } })).statusCode,
    403,
  );
  const filtered = await app.send('GET /jb/users/?role=reporter', { as: ACME });
  assert.equal(
    filtered.json().map((user: { email: string }) => user.email),
    [ADA],
  );
  const refusal = await app.send('GET /jb/users/', { as: GRACE });
  assert.match(refusal.json().detail, /client admin, reporter, people manager/);
  await give([]);
  assert.is((await app.send('GET /jb/users/', { as: ADA })).statusCode, 403);
});

added.run();
