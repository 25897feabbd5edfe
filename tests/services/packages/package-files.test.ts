import { mkdir, readdir, symlink, truncate, writeFile } from 'node:fs/promises';
import * as tar from 'tar';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packDirectory } from '../../../src/services/packages/package-packing.ts';
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

files('exclude version control, installed packages, secrets, and report them', async ({ folder }) => {
  const kept = ['.github/x', '.gitignore', 'env', 'git/x', 'node_modules.txt'];
  const leftOut = [
    '.DS_Store',
    '.env',
    '.env.local',
    '.environment/',
    '.envrc',
    '.git/',
    '.hg/',
    '.svn/',
    'pages/.git',
    'pages/Thumbs.db',
    'pages/node_modules/',
  ];
  const paths = [...kept, ...leftOut.map((path) => (path.endsWith('/') ? `${path}config` : path))];
  await writeFiles(folder.join('app'), Object.fromEntries(paths.map((path) => [path, 'x'])));

  const packed = await pack(folder);

  const found: string[] = [];
  await tar.list({ file: packed.file, onReadEntry: ({ path }) => found.push(path) });
  assert.equal(found, ['app.yaml', ...kept].sort());
  assert.equal(packed.leftOut, leftOut);
});

files('may exclude links, and more than a package can hold', async ({ folder }) => {
  await mkdir(folder.join('app', '.git'));
  await writeFile(folder.join('app', '.git', 'pack'), '');
  await truncate(folder.join('app', '.git', 'pack'), 101 * 1024 ** 2);
  await symlink('/nowhere', folder.join('app', 'node_modules'));

  assert.equal((await pack(folder)).leftOut, ['.git/', 'node_modules']);
});

files('are limited to 100 MiB in total', async ({ folder }) => {
  for (const name of ['a', 'b/c']) {
    await writeFiles(folder.join('app'), { [name]: '' });
    await truncate(folder.join('app', name), 51 * 1024 ** 2);
  }

  await refusesToBegin(folder, /larger than 100 MiB/);
});

files('must have a small app.yaml; a larger one is not read', async ({ folder }) => {
  await truncate(folder.join('app', 'app.yaml'), 3 * 1024 ** 3);

  await refusesToBegin(folder, /^app\.yaml is larger than 1 MiB\.$/);
});

files.run();
