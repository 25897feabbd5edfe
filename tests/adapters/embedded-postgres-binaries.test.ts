import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canReach } from '../../src/adapters/embedded-postgres/account.ts';
import { copyBinaries } from '../../src/adapters/embedded-postgres/binaries.ts';
import { makeScratchFolder } from '../support/files.ts';

const folder = await makeScratchFolder();
const binaries = suite('copyBinaries');

binaries('makes a copy that every account can run, once', async () => {
  const native = folder.join('package', 'native');
  await mkdir(join(native, 'bin'), { recursive: true, mode: 0o700 });
  await mkdir(join(native, 'lib'));
  await writeFile(join(native, 'bin', 'postgres'), '', { mode: 0o700 });
  await writeFile(join(native, 'lib', 'libpq.so.5.18'), '', { mode: 0o600 });
  const link = { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' };
  await writeFile(join(native, 'pg-symlinks.json'), JSON.stringify([link]));
  const source = { native, version: '18.0.0', account: undefined, privateDir: folder.path };

  const copies = await Promise.all([copyBinaries(source), copyBinaries(source)]);
  const again = await copyBinaries(source);

  assert.equal(copies, [again, again]);
  assert.is((await stat(join(again, 'bin', 'postgres'))).mode & 0o777, 0o755);
  assert.is((await stat(join(again, 'lib', 'libpq.so.5'))).mode & 0o777, 0o644);
  assert.equal((await readdir(folder.path)).filter((name) => name.startsWith('steward-postgres')).length, 1);
});

binaries('detects a folder that the account cannot enter', async () => {
  const stranger = { uid: 65533, gid: 65533 };

  assert.ok(await canReach('/usr/bin', stranger));
  assert.not(await canReach(folder.path, stranger));
});

binaries.after(() => folder[Symbol.asyncDispose]());
binaries.run();
