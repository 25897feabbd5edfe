import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { extractPreviousVersion, PREVIOUS } from '../support/environment.ts';
import { type Program, runCommand, startService } from '../support/service-process.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { suiteWith } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { DEMO_PASSWORD, queryOnce } from '../support/test-server.ts';
import { exchanges, runExchanges } from './exchanges.ts';

const PROJECT = join(import.meta.dirname, '../..');
const appliedTo = async (connection: Connection): Promise<string[]> => {
  const rows = await queryOnce(connection, 'select name from mikro_orm_migrations order by id');
  return rows.map(({ name }) => String(name));
};

const prepare = async (closing: AsyncDisposableStack) => {
  const previous = closing.use(await extractPreviousVersion());
  const database = closing.use(await startExternalDatabase());
  const smtp = closing.use(await startSmtpServer());
  const { settings, connection } = await database.makeDatabase();
  const shared = {
    ...settings,
    DATA_DIR: previous.join('data'),
    SMTP_URL: smtp.url,
    MAIL_FROM: 'steward@acme.test',
    BASE_URL: 'http://localhost:8000',
    LOG_LEVEL: 'warn',
    DEMO_PASSWORD,
  };
  const start = async (command: 'serve' | 'demo', program?: Program) =>
    startService(command, { ...shared, PORT: String(await freePort()) }, [], program);

  const old = closing.use(await start('demo', previous.program));
  // Prepares its statements before the migration.
  await runExchanges(old, old, 'before', smtp);
  const before = await appliedTo(connection);
  const migration = await runCommand(['migrate'], shared);
  const added = (await appliedTo(connection)).slice(before.length);
  return { previous, smtp, start, old, present: closing.use(await start('serve')), migration, added };
};

const title = `the previous version (${PREVIOUS.name}) and this one on one database`;
const versions = suiteWith(title, prepare);

/** What a migration says about its locks is for previews, and not a part of what it does. */
const withoutLocks = (migration: string): string =>
  migration
    .replace(/^import type \{ Locks \}.*\n/m, '')
    .replace(/^ {2}static readonly locks: Locks = [^;]*;\n\n?/m, '');

versions('have the same migrations, except for new ones', async ({ previous }) => {
  const names: string[] = [];
  for await (const name of glob('0*.ts', { cwd: previous.join('migrations') })) names.push(name);

  assert.ok(names.length > 0);
  for (const name of names) {
    const files = [previous.join('migrations', name), join(PROJECT, 'migrations', name)];
    const [was = '', is = ''] = await Promise.all(files.map((file) => readFile(file, 'utf8')));
    assert.is(
      withoutLocks(is),
      withoutLocks(was),
      `${name} is released: add a migration instead of changing it.`,
    );
  }
});

versions('migrate while an instance of the previous version serves', async ({ migration, added, old }) => {
  const expected = added.length > 0 ? `Applied ${added.join(', ')}` : 'No pending migrations.';

  assert.is(migration.code, 0, migration.stderr);
  assert.is(migration.stdout.trim(), expected);
  assert.is((await old.send('GET !/readyz')).status, 200);
  console.log(`\n# From ${PREVIOUS.name}: ${expected}`);
});

for (const [what, exchange] of Object.entries(exchanges)) {
  versions(`share ${what}`, async ({ old, present, smtp }) => {
    await exchange(old, present, 'forward', smtp);
    await exchange(present, old, 'backward', smtp);
  });
}

versions('work together after a restart of the previous one', async (context) => {
  const { previous, start, smtp, present } = context;
  await using restarted = await start('serve', previous.program);

  await runExchanges(restarted, present, 'restarted', smtp);
  await runExchanges(present, restarted, 'again', smtp);
});

versions('log no error', ({ old, present }) => {
  const errors = [old, present].flatMap(({ output }) =>
    output.stdout.split('\n').filter((line) => /"level":(50|60)/.test(line)),
  );

  assert.equal(errors, []);
});

versions.run();
