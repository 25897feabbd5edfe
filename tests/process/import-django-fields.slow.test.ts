import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { djangoUser } from '../fixtures/django/records.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { runCommand } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';

const RECORDED = join(import.meta.dirname, '../fixtures/django/dump.json');

const command = suite<{ server: Awaited<ReturnType<typeof startExternalDatabase>> }>(
  'steward import-django --map, --drop',
);

command.before(async (context) => {
  context.server = await startExternalDatabase();
});
command.after(({ server }) => server[Symbol.asyncDispose]());

command('names a field that would be lost, and the options that keep or drop it', async ({ server }) => {
  await using folder = await makeScratchFolder();
  const { settings, connection } = await server.makeDatabase();
  const database = new Client(connection);
  await database.connect();
  const file = folder.join('restricted.json');
  const user = djangoUser('ada@example.org', { data_restrictions: { region: 'north' }, theme: 'dark' });
  await writeFile(file, JSON.stringify([{ ...user, model: 'accounts.user' }]));

  const refused = await runCommand(['import-django', file], settings);
  const options = ['--map', 'extra=data_restrictions', '--drop', 'theme'];
  const accepted = await runCommand(['import-django', file, ...options], settings);
  const { rows } = await database.query('select extra from users');
  await database.end();

  assert.is(refused.code, 1);
  assert.match(refused.stdout, '\n0 imported\n');
  assert.match(
    refused.stderr,
    '--map FIELD=data_restrictions, or leave it out with --drop data_restrictions',
  );
  assert.is(accepted.code, 0, accepted.stderr);
  assert.match(accepted.stdout, '\nFields not imported: username, groups, user_permissions, theme\n');
  assert.equal(rows, [{ extra: { region: 'north' } }]);
});

command('accepts mappings of user fields only', async ({ server }) => {
  const { settings } = await server.makeDatabase();
  for (const mapping of ['extras=x', 'extra=a.b']) {
    const { code, stderr } = await runCommand(['import-django', RECORDED, '--map', mapping], settings);
    assert.is(code, 1, mapping);
    assert.match(stderr, "error: option '--map <field=source>' argument", mapping);
  }
});

command.run();
