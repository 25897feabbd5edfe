import { copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as assert from 'uvu/assert';
import { ADMIN, BACKUP_PASSPHRASE, makeDemoBackup, PASSWORD } from '../support/backups.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { runCommand, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';

const commands = suiteWith('steward restore', async (started) => {
  const folder = started.use(await makeScratchFolder());
  return { folder, ...(await makeDemoBackup(folder)) };
});

commands('moves from the embedded database to an external one', async ({ folder, file }) => {
  await using server = await startExternalDatabase();
  const { settings } = await server.makeDatabase();
  const { DATABASE_URL = '' } = settings;
  const keyFile = folder.join('key');
  const store = { APP_STORE: `file:${folder.join('external-store')}` };
  const restored = { DATABASE_URL, ...store, BACKUP_PASSPHRASE };
  const without = await runCommand(['restore', file], restored);
  assert.is(without.stderr, 'The backup holds the secret key: name a file for it with --key-file.\n');
  assert.match((await runCommand(['restore', file, '--key-file', file], restored)).stderr, /already exists/);
  const { code, stderr } = await runCommand(['restore', file, '--key-file', keyFile], restored);
  assert.is(code, 0, stderr);
  assert.is((await stat(keyFile)).mode & 0o777, 0o600);

  const SECRET_KEY = await readFile(keyFile, 'utf8');
  await using service = await startService('serve', { ...settings, ...store, SECRET_KEY });
  await service.logIn(ADMIN, PASSWORD);
});

commands('takes the newest backup of a folder, and names it', async ({ folder, file }) => {
  const dir = folder.join('several');
  await mkdir(dir);
  const newest = join(dir, basename(file));
  await copyFile(file, newest);
  for (const name of ['steward-20200101T030000Z-aaaaaa.tar', 'zzz.tar'])
    await writeFile(join(dir, name), 'no backup');

  const verified = await runCommand(['backup', 'verify', dir]);
  const restored = await runCommand(['restore', dir], {
    DATA_DIR: folder.join('of-folder'),
    BACKUP_PASSPHRASE,
  });
  const none = await runCommand(['backup', 'verify', folder.path]);

  for (const { code, stdout, stderr } of [verified, restored]) {
    assert.is(code, 0, stderr);
    assert.is(stdout.split('\n')[0], `The newest backup is ${newest}.`);
  }
  assert.is(none.code, 1);
  assert.is(none.stderr, `${folder.path} holds no backup: no file is named steward-TIME-ID.tar.\n`);
});

commands.run();
