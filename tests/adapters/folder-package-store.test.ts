import { readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { probePackageStore } from '../../src/adapters/package-store/package-store.ts';
import { makeScratchFolder } from '../support/files.ts';
import {
  CHECKSUM_FORMS,
  createFolderPackageStore,
  makeSources,
  ONE,
  openedHash,
  publishBeforeReader,
  TWO,
  testPackageStore,
} from '../support/package-stores.ts';
import { problemOf, refuses, sha256 } from '../support/packages.ts';

const sources = await makeSources();

testPackageStore('folder', () => createFolderPackageStore({ dir: sources.fresh() }));

const folder = suite('createFolderPackageStore');

const published = async () => {
  const dir = sources.fresh();
  const packages = createFolderPackageStore({ dir });
  await packages.publish('sales', '1.0.0', await sources.fileOf(ONE));
  return { dir, packages, file: join(dir, 'sales-1.0.0.tgz') };
};

folder('writes the package and its checksum in the format of sha256sum, and no other files', async () => {
  const { dir, file } = await published();

  assert.equal((await readdir(dir)).sort(), ['sales-1.0.0.tgz', 'sales-1.0.0.tgz.sha256']);
  assert.is(await readFile(`${file}.sha256`, 'utf8'), `${sha256(ONE)}  sales-1.0.0.tgz\n`);
});

folder('never shows a reader partial bytes, or bytes without a checksum', async () => {
  const packages = createFolderPackageStore({ dir: sources.fresh() });

  await publishBeforeReader(packages, await sources.fileOf(Buffer.alloc(3_000_000, 'x')));
});

folder('completes a publish that ended before its bytes were written', async () => {
  const { packages, file } = await published();
  await unlink(file);

  assert.is(await packages.open('sales', '1.0.0'), null);
  await refuses(packages.publish('sales', '1.0.0', await sources.fileOf(TWO)), /other bytes/);
  await packages.publish('sales', '1.0.0', await sources.fileOf(ONE));

  assert.is(await openedHash(packages), sha256(ONE));
});

folder('adds a checksum to a file that was copied into the folder, and never replaces it', async () => {
  const { packages, file } = await published();
  await unlink(`${file}.sha256`);

  await refuses(packages.publish('sales', '1.0.0', await sources.fileOf(TWO)), /other bytes/);
  await refuses(packages.open('sales', '1.0.0'), /no valid checksum/);
  await packages.publish('sales', '1.0.0', await sources.fileOf(ONE));

  assert.is(await openedHash(packages), sha256(ONE));
});

for (const [what, text, isValid] of CHECKSUM_FORMS) {
  folder(`${isValid ? 'accepts' : 'refuses'} a checksum file with ${what}`, async () => {
    const { packages, file } = await published();
    await writeFile(`${file}.sha256`, text);

    if (!isValid) return refuses(packages.open('sales', '1.0.0'), /sales-1\.0\.0\.tgz\.sha256/);
    assert.is(await openedHash(packages), sha256(ONE));
  });
}

folder('ignores other files', async () => {
  const { dir, packages } = await published();
  for (const name of [
    '.sales-2.0.0.tgz.x.tmp',
    'sales-3.tgz',
    'sales-v4.0.0.tgz',
    'sales-5.0.0.zip',
    'README',
  ]) {
    await writeFile(join(dir, name), '');
  }

  assert.equal(await packages.versions('sales'), ['1.0.0']);
});

folder('is unavailable if its folder cannot be used', async () => {
  const packages = createFolderPackageStore({ dir: join(await sources.fileOf(ONE), 'below-a-file') });
  const source = await sources.fileOf(ONE);

  const problem = await problemOf(packages.versions('sales'), 'package-store-unavailable');
  await problemOf(packages.open('sales', '1.0.0'), 'package-store-unavailable');
  await problemOf(packages.publish('sales', '1.0.0', source), 'package-store-unavailable');

  assert.match(String(problem.cause), /ENOTDIR/);
});

folder('is probed by a file that does not stay, also before the first publication', async () => {
  await using scratch = await makeScratchFolder();

  for (const dir of [scratch.path, scratch.join('new', 'packages')])
    assert.equal(await probePackageStore({ kind: 'folder', dir }), { readError: null, writeError: null });

  assert.equal(await readdir(scratch.path), []);
});

folder.after(() => sources[Symbol.asyncDispose]());
folder.run();
