import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { initializeDemoDir } from '../support/demo-data.ts';
import { makeScratchFolder } from '../support/files.ts';
import { assertRefused, runCommand, type Service, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';

type Context = { folder: Awaited<ReturnType<typeof makeScratchFolder>>; service: Service; token: string };

const invite = suite<Context>('steward invite beside a running service');

invite.before(async (context) => {
  context.folder = await makeScratchFolder();
  context.service = await startService('demo', {
    DATA_DIR: await initializeDemoDir(context.folder.join('data')),
  });
  context.token = (await context.service.logIn('admin@acme.test', 'steward-demo-1')).token;
});
invite.after(async ({ folder, service }) => {
  await service[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const run = async ({ folder }: Context, text: string, args: string[], settings = {}) => {
  await writeFile(folder.join('people.csv'), text);
  const all = { DATA_DIR: folder.join('data'), ...settings };
  return runCommand(['invite', 'people.csv', ...args], all, folder.path);
};

const pending = async ({ service, token }: Context): Promise<{ email: string; initial_apps: string[] }[]> =>
  (await service.send('GET /jb/clients/1/users/invitations/', { token })).json;

invite('creates invitations that the service lists immediately', async (context) => {
  const text = 'email;apps;extra\r\nEve@guests.test;sales churn;"{""team"": 7}"\r\nbob@guests.test;;\r\n';

  const { code, stdout, stderr } = await run(context, text, ['--client', '1', '--as', 'admin@acme.test']);

  const made = (await pending(context)).filter(({ email }) => email.endsWith('@guests.test'));
  assert.is(code, 0, stderr);
  assert.match(
    stdout,
    /^Acme Analytics: 2 invited, 0 renewed, by admin@acme\.test\.\nThe mails wait in the queue, because there is no mail server/,
  );
  assert.is(stderr, '');
  assert.equal(
    made.map(({ email }) => email),
    ['bob@guests.test', 'eve@guests.test'],
  );
});

invite('writes its report beside the file, and names the columns of the file', async (context) => {
  await mkdir(context.folder.join('lists'), { recursive: true });
  const file = join('lists', 'guests.csv');
  await writeFile(context.folder.join(file), 'email,client,initial_apps\na@guests.test,2,nothing\n');
  const settings = { DATA_DIR: context.folder.join('data') };

  const outcome = await runCommand(['invite', file, '--client', '1'], settings, context.folder.path);
  const elsewhere = ['--report', join('none', 'report.csv')];
  const unwritable = await runCommand(
    ['invite', file, '--client', '1', ...elsewhere],
    settings,
    context.folder.path,
  );

  assert.match(outcome.stderr, 'line 2: a@guests.test: client: Must be 1, the client of --client, or empty.');
  assert.match(outcome.stderr, 'line 2: a@guests.test: initial_apps: This client has no app nothing.');
  assert.match(outcome.stderr, '2 errors; see lists/guests.report.csv.');
  assert.ok(existsSync(context.folder.join('lists', 'guests.report.csv')));
  assert.match(unwritable.stderr, 'initial_apps: This client has no app nothing.');
  assert.match(
    unwritable.stderr,
    /2 errors; the report cannot be written \(.+\): name another file with --report\./,
  );
});

invite('reports the result of a dry run without changing anything', async (context) => {
  const before = await pending(context);

  const { code, stdout } = await run(context, 'email\nEve@guests.test\nnew@guests.test\n', [
    '--client',
    '1',
    '--dry-run',
  ]);

  assert.is(code, 0);
  assert.match(
    stdout,
    /: 1 would be invited, 1 renewed, by root@steward\.test\.\n.+nothing was changed\.\n$/,
  );
  assert.equal(await pending(context), before);
});

invite('refuses an invalid file, shows the first errors, and writes all to the report', async (context) => {
  const before = await pending(context);
  const lines = Array.from({ length: 30 }, (_, index) => `good-${index}@guests.test,fleet`);

  const outcome = await run(context, `email,apps\nada@acme.test,\n${lines.join('\n')}\nx@y.test,"\n`, [
    '--client',
    '1',
  ]);

  const report = (await readFile(context.folder.join('people.report.csv'), 'utf8')).trimEnd().split('\r\n');
  assertRefused(outcome, 22);
  assert.match(outcome.stderr, 'line 2: ada@acme.test: email: An active user of this client');
  assert.match(outcome.stderr, '32 errors; see people.report.csv. No one was invited.');
  assert.is(report.length, 33);
  assert.match(report[32] ?? '', /^33,,,A quoted field starts here and is never closed/);
  assert.equal(await pending(context), before);
});

invite('refuses a report over the file itself', async (context) => {
  const args = ['--client', '1', '--report', './people.csv'];
  const outcome = await run(context, 'email\neve@guests.test\n', args);

  assertRefused(outcome, 2);
  assert.match(outcome.stderr, '--report: Must not be the file');
});

invite('refuses a missing file', async (context) => {
  const settings = { DATA_DIR: context.folder.join('data') };

  const missing = await runCommand(['invite', 'none.csv', '--client', '1'], settings, context.folder.path);

  assertRefused(missing, 1);
  assert.is(missing.stderr, 'none.csv: no such file or directory.\n');
});

invite('starts the database itself after the service has stopped', async (context) => {
  await context.service.kill('SIGTERM');

  const { code, stdout, stderr } = await run(context, 'email\neve@guests.test\n', ['--client', '1']);

  assert.is(code, 0, stderr);
  assert.match(stdout, ': 0 invited, 1 renewed');
});

invite.run();
