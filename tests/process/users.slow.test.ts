import { readFile, stat } from 'node:fs/promises';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { makeScratchFolder, unzip } from '../support/files.ts';
import { runCommand } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';

const ADA = 'ada@example.test';
const ROOT = 'root@example.test';

const users = suiteWith('steward users', async (started) => {
  const folder = started.use(await makeScratchFolder());
  const server = started.use(await startExternalDatabase());
  const { settings, connection } = await server.makeDatabase();
  const database = new Client(connection);
  await database.connect();
  started.defer(() => database.end());
  assert.is((await runCommand(['create-admin', ROOT], settings)).code, 0);
  await database.query(`insert into users (email, handle, profile_color, date_joined, last_password_set)
    values ('${ADA}', '@ada', '000000', '2026-01-01', '2026-01-01')`);
  return { folder, settings, database };
});

users('export writes a private file, and never over another', async ({ settings, folder }) => {
  const file = folder.join('ada.zip');
  const first = await runCommand(['users', 'export', 'Ada@Example.test', file], settings);
  const second = await runCommand(['users', 'export', ADA, file], settings);
  const unknown = await runCommand(
    ['users', 'export', 'none@example.test', folder.join('none.zip')],
    settings,
  );

  assert.is(first.code, 0, first.stderr);
  assert.match(first.stdout, /everything about ada@example\.test/);
  assert.is((await stat(file)).mode & 0o777, 0o600);
  assert.match((await unzip(await readFile(file))).get('profile.json') ?? '', /"handle":"@ada"/);
  assert.equal([second.code, unknown.code, unknown.stderr], [1, 1, 'No such user.\n']);
});

users('erase needs the address again, and keeps the last superuser', async ({ settings, database }) => {
  const unconfirmed = await runCommand(['erase', ADA], settings);
  const wrong = await runCommand(['erase', ADA, '--confirm', ROOT], settings);
  const last = await runCommand(['erase', ROOT, '--confirm', ROOT], settings);
  const { rows } = await database.query(`select email from users order by email`);

  assert.equal([unconfirmed.code, wrong.code, last.code], [1, 1, 1]);
  assert.match(unconfirmed.stderr, /--confirm/);
  assert.match(last.stderr, /At least one active superuser must remain/);
  assert.equal(rows, [{ email: ADA }, { email: ROOT }]);
});

users('erase leaves nothing in a dump of the database', async ({ settings, database }) => {
  const { code, stdout, stderr } = await runCommand(['erase', ADA, '--confirm', ADA], settings);
  const { rows: tables } = await database.query(`select relname from pg_class where relkind in ('r', 'p')
  and relnamespace = current_schema()::regnamespace`);
  const found: unknown[] = [];
  for (const { relname } of tables)
    found.push(
      ...(await database.query(`select t::text from ${relname} t where t::text ~* '@ada|ada@'`)).rows,
    );
  const { rows: audited } = await database.query(
    `select action, actor_id from audit_entries order by id desc limit 1`,
  );

  assert.is(code, 0, stderr);
  assert.match(stdout, /^Erased: the person is now erased-[0-9a-f]{16}@erased\.invalid\.\n$/);
  assert.equal(found, []);
  assert.equal(audited, [{ action: 'user.erase', actor_id: null }]);
});

users.run();
