import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { ADMIN, BACKUP_PASSPHRASE, makeDemoBackup, PASSWORD } from '../support/backups.ts';
import { makeScratchFolder } from '../support/files.ts';
import { runCommand, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';

const commands = suiteWith('steward backup and restore', async (started) => {
  const folder = started.use(await makeScratchFolder());
  return { folder, ...(await makeDemoBackup(folder)) };
});

commands('writes one file that only its owner can read, and leaves no other', async ({ folder, file }) => {
  assert.is((await readdir(folder.join('backups'))).length, 1);
  assert.is((await stat(file)).mode & 0o777, 0o600);
});

commands('restores people, tokens, packages and the key', async ({ folder, file, token }) => {
  const settings = { DATA_DIR: folder.join('restored') };
  const { code, stdout, stderr } = await runCommand(['restore', file], { ...settings, BACKUP_PASSPHRASE });
  assert.is(code, 0, stderr);
  assert.match(stdout, /^Restored the backup of .* are the same as in its snapshot\.\n$/);

  await using service = await startService('serve', settings);
  const user = await service.send(`GET /jb/users/${ADMIN}/`, { token });
  const versions = await service.send('GET /jb/apps/', { token });
  await service.logIn('ada@acme.test', PASSWORD);

  assert.is(user.status, 200);
  assert.ok(versions.json.length > 0);
  assert.is(
    await readFile(folder.join('restored/secret-key'), 'utf8'),
    await readFile(folder.join('data/secret-key'), 'utf8'),
  );
  assert.equal(
    (await readdir(folder.join('restored/packages'))).sort(),
    (await readdir(folder.join('data/packages'))).sort(),
  );
});

commands('restores only with the key, unless told otherwise', async ({ folder, file }) => {
  const restore = (name: string, settings: Record<string, string>, ...options: string[]) =>
    runCommand(['restore', file, ...options], { DATA_DIR: folder.join(name), ...settings });
  const SECRET_KEY = (await readFile(folder.join('data/secret-key'), 'utf8')).trim();
  const another = { SECRET_KEY: 'a'.repeat(64), BACKUP_PASSPHRASE };

  const sealed = await restore('without-key', {});
  const wrong = await restore('without-key', another);
  const renewed = await restore('new-key', another, '--new-key');
  const right = await restore('with-setting', { SECRET_KEY });

  for (const { code } of [sealed, wrong]) assert.is(code, 1);
  assert.match(
    sealed.stderr,
    /^The secret key .* is needed: set BACKUP_PASSPHRASE\. Or restore with --new-key: .+\n$/,
  );
  assert.match(wrong.stderr, /^The secret key .* is needed: .+\n$/);
  assert.not.ok((await readdir(folder.path)).includes('without-key'), 'nothing was created');
  assert.is(renewed.code, 0, renewed.stderr);
  assert.match(renewed.stdout, /\nThe secret key is another one: .+\n$/);
  assert.is(right.code, 0, right.stderr);
});

commands('verifies a backup in a temporary database', async ({ file }) => {
  const { code, stdout, stderr } = await runCommand(['backup', 'verify', file]);

  assert.is(code, 0, stderr);
  assert.match(stdout, /^Verified the backup of .* are the same as in its snapshot\.\n$/);
});

commands('names a DATA_DIR without a database, and creates none there', async ({ folder }) => {
  const DATA_DIR = folder.join('mistyped');
  for (const command of [
    ['backup', folder.join('target')],
    ['mfa', 'reset', ADMIN, '--reason', 'lost phone'],
  ]) {
    const { code, stderr } = await runCommand(command, { DATA_DIR });
    assert.is(code, 1);
    assert.is(
      stderr,
      `There is no database in ${DATA_DIR}. Set DATA_DIR to the folder of the service, or DATABASE_URL.\n`,
    );
  }
  assert.not.ok((await readdir(folder.path)).includes('mistyped'));
});

commands('refuses in one line, and creates nothing', async ({ folder, file }) => {
  const bytes = await readFile(file);
  const cut = folder.join('cut.tar');
  await writeFile(cut, bytes.subarray(0, bytes.length / 2));
  const DATA_DIR = folder.join('untouched');
  const refused = async (args: string[], settings: Record<string, string> = {}): Promise<string> => {
    const { code, stderr, stdout } = await runCommand(args, { DATA_DIR, ...settings });
    assert.is(code, 1);
    assert.is(stdout, '');
    return stderr;
  };

  assert.match(await refused(['restore', cut]), /^This is not a complete backup \(.+\)\.\n$/);
  assert.match(
    await refused(['restore', folder.join('none.tar')]),
    /none\.tar: no such file or directory\.\n$/,
  );
  assert.is(
    await refused(['restore', file], { BACKUP_PASSPHRASE: 'wrong' }),
    'BACKUP_PASSPHRASE is not the passphrase of this backup.\n',
  );
  assert.is(
    await refused(['backup', folder.join('b'), '--with-key']),
    '--with-key needs a passphrase in BACKUP_PASSPHRASE.\n',
  );
  assert.is(
    await refused(['restore', file], { DATA_DIR: folder.join('data') }),
    `${folder.join('data')} has a database: a backup is restored into a new DATA_DIR.\n`,
  );
  assert.not.ok((await readdir(folder.path)).includes('untouched'));
});

commands.run();
