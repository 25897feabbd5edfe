import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { djangoUser } from '../fixtures/django/records.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { assertRefused, runCommand, STACK } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures/django');
const RECORDED = join(FIXTURES, 'dump.json');
/** The recorded dump. One of its users is in a group. */
const IMPORT = ['import-django', RECORDED, '--drop', 'groups'];

const start = async (started: AsyncDisposableStack) => ({
  folder: started.use(await makeScratchFolder()),
  server: started.use(await startExternalDatabase()),
});
type Shared = Awaited<ReturnType<typeof start>>;

const startEach = async (started: AsyncDisposableStack, { server }: Shared) => {
  const { settings, connection } = await server.makeDatabase();
  const database = new Client(connection);
  await database.connect();
  started.defer(() => database.end());
  return { settings, database };
};

const command = suiteWith('steward import-django', start, startEach);

const emails = async ({ database }: { database: Client }): Promise<string[]> => {
  const { rows } = await database.query('select email from users order by id');
  return rows.map(({ email }) => email);
};

command('reports how many records it has read, imported and skipped', async (context) => {
  const { settings } = context;
  const dry = await runCommand([...IMPORT, '--dry-run'], settings);
  const none = await emails(context);
  const first = await runCommand(IMPORT, settings);
  const again = await runCommand(IMPORT, settings);

  assert.equal([dry.code, first.code, again.code], [0, 0, 0], dry.stderr + first.stderr + again.stderr);
  assert.equal(none, []);
  assert.match(dry.stdout, 'This was a dry run: nothing was changed.');
  assert.is(
    first.stdout,
    [
      '22 records read',
      '5 imported',
      '0 existing users, not changed',
      '17 skipped: not of the user model auth.user',
      '0 with errors',
      'Fields not imported: username, groups, user_permissions',
      '1 of the imported users must set a password to log in.',
      'The imported users belong to no client. Use --client to add them to one.',
      '',
    ].join('\n'),
  );
  assert.match(again.stdout, '\n0 imported\n5 existing users, not changed\n');
  assert.is(dry.stderr + first.stderr + again.stderr, '');
  assert.is((await emails(context)).length, 5);
});

command('refuses an invalid file, and shows the first 20 errors', async (context) => {
  const { folder, settings } = context;
  const file = folder.join('faulty.json');
  const bad = Array.from({ length: 30 }, () => djangoUser('no address'));
  await writeFile(file, JSON.stringify([djangoUser('good@example.org'), ...bad]));

  const { code, stdout, stderr } = await runCommand(['import-django', file], context.settings);
  const lines = stderr.trimEnd().split('\n');

  assert.is(code, 1);
  assert.match(stdout, '\n0 imported\n');
  assert.match(
    stdout,
    '\n30 with errors\nFields not imported: username, groups, user_permissions\nThe file was refused. No users were imported.\n',
  );
  assert.is(lines.length, 21);
  assert.match(lines[0] ?? '', /^record 2 \(pk \d+\): email: Must be an email address/);
  assert.is(lines.at(-1), '10 more; use --report to list all.');
  assert.equal(await emails(context), []);
  assert.is((await runCommand(['import-django', file, '--dry-run'], settings)).code, 1);
});

command('writes all remarks about records to the report', async ({ folder, settings, database }) => {
  const [file, report] = [folder.join('reported.json'), folder.join('report.csv')];
  const secret = 'sha1$salt$0123456789abcdef';
  const records = [
    djangoUser('one@example.org'),
    { ...djangoUser('=2+5', { username: 'x', first_name: 7, password: secret }), pk: 'a "b", c' },
    djangoUser('ONE@example.org'),
  ];

  await writeFile(file, JSON.stringify(records));
  const refused = await runCommand(['import-django', file, '--report', report], settings);
  const faults = (await readFile(report, 'utf8')).split('\r\n');
  await writeFile(file, JSON.stringify([records[0], djangoUser('sha@example.org', { password: secret })]));
  await database.query(`insert into users (email, handle, profile_color, date_joined, last_password_set)
    values ('one@example.org', '@one', '000000', '2026-01-01', '2026-01-01')`);
  const accepted = await runCommand(
    ['import-django', file, '--report', report, '--reset-unsupported-passwords'],
    settings,
  );
  const rest = (await readFile(report, 'utf8')).split('\r\n');

  assert.equal([refused.code, accepted.code], [1, 0]);
  assert.is(refused.stderr, '');
  assert.is(faults[0], 'record,pk,email,outcome,field,message');
  assert.equal(
    faults.slice(1, 4).map((line) => line.split(',').slice(3, 5)),
    ['username', 'groups', 'user_permissions'].map((field) => ['dropped', field]),
  );
  assert.equal(
    faults.slice(4, 7).map((line) => line.slice(0, line.indexOf(',faulty,'))),
    [`2,"a ""b"", c",'=2+5`, `2,"a ""b"", c",'=2+5`, `3,${records[2]?.pk},one@example.org`],
  );
  assert.equal(
    rest.slice(4, 6).map((line) => line.split(',').slice(2, 5)),
    [
      ['sha@example.org', 'imported', 'password'],
      ['one@example.org', 'exists', ''],
    ],
  );
  assert.equal([faults.length, rest.length], [8, 7]);
  assert.not.match(faults.join() + rest.join(), '0123456789abcdef');
  assert.is((await stat(report)).mode & 0o777, 0o600);
});

command('refuses invalid arguments in one or two lines', async ({ folder, settings }) => {
  const broken = folder.join('broken.json');
  await writeFile(broken, (await readFile(RECORDED)).subarray(0, 3000));

  for (const [args, lines, message] of [
    [[folder.join('none.json')], 1, 'none.json'],
    [[folder.path], 2, 'file: Must be a file, not a folder.'],
    [['/dev/null'], 2, 'file: Must be a regular file, because it is read twice.'],
    [[RECORDED, '--map', 'extra=a', '--map', 'extra=b'], 2, 'map: Maps extra twice.'],
    [[RECORDED, '--client', '7'], 2, 'client: There is no client 7.'],
    [[RECORDED, '--report', RECORDED], 2, 'report: Must not be the file that is imported'],
    [[RECORDED, '--report', folder.join('none', 'report.csv')], 1, 'report.csv'],
  ] as const) {
    const outcome = await runCommand(['import-django', ...args], settings);
    assertRefused(outcome, lines);
    assert.match(outcome.stderr, message);
  }
  const { code, stderr } = await runCommand(['import-django', broken, '--drop', 'groups'], settings);
  assert.is(code, 1);
  assert.match(stderr, /^file: Invalid or truncated JSON \(after record \d+\)\.\n$/);
  assert.not.match(stderr, STACK);
});

command.run();
