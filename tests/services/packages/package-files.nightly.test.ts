import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listFiles, packDirectory } from '../../../src/services/packages/package-packing.ts';
import { makeScratchFolder, writeFiles } from '../../support/files.ts';
import { manifestText, refuses } from '../../support/packages.ts';

type Folder = Awaited<ReturnType<typeof makeScratchFolder>>;

const files = suite<{ folder: Folder }>('files to pack');

files.before.each(async (context) => {
  context.folder = await makeScratchFolder();
  await writeFiles(context.folder.join('app'), { 'app.yaml': manifestText() });
});

files.after.each(({ folder }) => folder[Symbol.asyncDispose]());

const pack = (folder: Folder) => packDirectory(folder.join('app'), folder.join('out'));

/** Asserts that packing is refused before the output folder is created. */
const refusesToBegin = async (folder: Folder, detail: RegExp): Promise<void> => {
  await refuses(pack(folder), detail);
  assert.equal((await readdir(folder.path)).includes('out'), false);
};

files('are limited to 10,000 including folders', async ({ folder }) => {
  const names = Array.from({ length: 9_998 }, (_, i) => `${i}`);
  await mkdir(folder.join('app', 'many'));
  await Promise.all(names.map((name) => writeFile(folder.join('app', 'many', name), '')));
  assert.is((await listFiles(folder.join('app'), 'sales')).paths.length, 9_999);

  await mkdir(folder.join('app', 'one-more'));
  await refusesToBegin(folder, /more than 10000 files and folders/);
});

files.run();
