import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeDemoDir } from '../support/demo-data.ts';
import { startService } from '../support/service-process.ts';

const PASSWORD = 'steward-demo-1';

/** Adds a row to the table of roles, as the recipe of docs/changes.md does. */
const ADD_ROLE = `
  import { registerHooks } from 'node:module';
  const row = "{ name: 'reporter', plural: 'reporters', actions: ['view'] },";
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context);
      if (!url.endsWith('/services/access/permissions.ts')) return loaded;
      return { ...loaded, source: String(loaded.source).replace(/(?<=DELEGATED_ROLES = \\[)/, row) };
    },
  });`;

const added = suite('an added role');

added('is given, counts, is filtered by and is ended, from its row alone', async () => {
  await using data = await makeDemoDir();
  const hook = `data:text/javascript,${encodeURIComponent(ADD_ROLE)}`;
  await using service = await startService('serve', { DATA_DIR: data.path }, ['--import', hook]);
  const [admin, ada] = await Promise.all(
    ['admin@acme.test', 'ada@acme.test'].map((user) => service.logIn(user, PASSWORD)),
  );
  const send = (who: { token: string } | undefined, line: string, body?: object) =>
    service.send(line, { token: who?.token ?? '', body });
  const give = (...roles: string[]) => send(admin, 'PUT /jb/clients/1/roles/ada@acme.test/', { roles });

  const before = await send(ada, 'GET /jb/users/');
  assert.match(before.json.detail, /client admin, reporter, people manager/);
  assert.is((await give('reporter')).status, 200);
  assert.is((await send(ada, 'GET /jb/users/')).status, 200);
  assert.is((await send(ada, 'PATCH /jb/clients/1/', { login_title: 'Hi' })).status, 403);
  const filtered = await send(admin, 'GET /jb/users/?role=reporter');
  assert.equal(
    filtered.json.map((user: { email: string }) => user.email),
    ['ada@acme.test'],
  );
  await give();
  assert.is((await send(ada, 'GET /jb/users/')).status, 403);
});

added.run();
