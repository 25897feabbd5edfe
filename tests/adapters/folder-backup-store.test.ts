import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createFolderBackupStore } from '../../src/adapters/backup-store/backup-store.ts';
import { HOUR_MS, systemClock } from '../../src/lib/clock.ts';
import { BackupStoreError } from '../../src/lib/errno.ts';
import { makeScratchFolder } from '../support/files.ts';

const NAME = 'steward-20260301T120000Z-0a1b2c.tar';
const stores = suite('folder backup store');

const write = async (target: NodeJS.WritableStream): Promise<void> =>
  new Promise((resolve, reject) => target.on('error', reject).on('finish', resolve).end('content'));

stores('writes a file that only its owner can read, under its name once it is complete', async () => {
  await using folder = await makeScratchFolder();
  const store = createFolderBackupStore(folder.join('new', 'folder'));
  let during: string[] = [];

  const size = await store.write(NAME, async (target) => {
    await write(target);
    during = await readdir(folder.join('new', 'folder'));
  });

  assert.equal(during, [`${NAME}.partial`]);
  assert.is(size, 7);
  assert.is(await store.sizeOf(NAME), 7);
  assert.equal(await store.list(), [NAME]);
  assert.equal(await readdir(folder.join('new', 'folder')), [NAME]);
  assert.is((await stat(store.locate(NAME))).mode & 0o777, 0o600);
  assert.is(await readFile(store.locate(NAME), 'utf8'), 'content');
});

stores('leaves nothing after a failure, and names the reason of a full disk', async () => {
  await using folder = await makeScratchFolder();
  const store = createFolderBackupStore(folder.path);
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
    code: 'ENOSPC',
    errno: -constants.errno.ENOSPC,
    syscall: 'write',
  });
  const fail = (error: Error) =>
    store
      .write(NAME, async (target) => {
        await write(target);
        throw error;
      })
      .catch((cause: unknown) => cause);

  const other = new Error('the database went away');
  assert.is(await fail(other), other);
  const failure = await fail(full);

  assert.instance(failure, BackupStoreError);
  assert.match(String(failure), /: no space left on device\. Nothing was left there\.$/);
  assert.equal(await readdir(folder.path), []);
});

stores('removes drafts of killed backups after a day, and names younger ones', async () => {
  await using folder = await makeScratchFolder();
  const store = createFolderBackupStore(folder.path);
  const old = folder.join(`${NAME}.partial`);
  const young = folder.join('steward-20260302T120000Z-0a1b2c.tar.partial');
  for (const path of [old, young, folder.join('other.partial')]) await writeFile(path, '');
  // By the clock of this process, which may not be that of the file system.
  const now = systemClock.now();
  const before = new Date(now.getTime() - 25 * HOUR_MS);
  await utimes(young, now, now);
  await utimes(old, before, before);
  await utimes(folder.join('other.partial'), before, before);

  assert.equal(await store.sweep(), { removed: [old], kept: [young] });

  assert.equal((await readdir(folder.path)).length, 2);
});

stores('removes a backup with its draft, and none that is missing', async () => {
  await using folder = await makeScratchFolder();
  const store = createFolderBackupStore(folder.path);
  await writeFile(folder.join(NAME), '');
  await writeFile(folder.join(`${NAME}.partial`), '');

  await store.remove(NAME);
  await store.remove(NAME);

  assert.equal(await readdir(folder.path), []);
});

stores.run();
