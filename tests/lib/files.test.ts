import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ensureDirectory } from '../../src/lib/files.ts';
import { makeScratchFolder } from '../support/files.ts';
import { problemOf } from '../support/packages.ts';

const folders = suite('ensureDirectory');

folders('creates a folder and its parents, and accepts an existing one', async () => {
  await using scratch = await makeScratchFolder();
  const dir = scratch.join('a', 'b', 'c');

  await Promise.all([1, 2, 3].map(() => ensureDirectory(dir)));
  await ensureDirectory(dir);
  await ensureDirectory('.');
  await ensureDirectory('/');

  assert.ok((await stat(dir)).isDirectory());
});

folders('accepts a link to a folder', async () => {
  await using scratch = await makeScratchFolder();
  await mkdir(scratch.join('real'));
  await symlink('real', scratch.join('link'));

  await ensureDirectory(scratch.join('link', 'below'));

  assert.equal(await readdir(scratch.join('real')), ['below']);
});

folders('names the path that prevents the folder, and why', async () => {
  await using scratch = await makeScratchFolder();
  await writeFile(scratch.join('file'), '');
  await symlink('nowhere', scratch.join('dangling'));
  const cases: [dir: string, detail: string][] = [
    ['', 'The name of a folder is empty.'],
    [scratch.join('file'), `The folder ${scratch.join('file')} cannot be created: file already exists.`],
    ...['file', 'dangling'].map((name): [string, string] => [
      scratch.join(name, 'below'),
      `The folder ${scratch.join(name, 'below')} cannot be created: not a directory.`,
    ]),
    [
      scratch.join('x'.repeat(256)),
      `The folder ${scratch.join('x'.repeat(256))} cannot be created: name too long.`,
    ],
  ];

  for (const [dir, detail] of cases) {
    assert.is((await problemOf(ensureDirectory(dir), 'invalid-input')).message, detail);
  }
});

folders.run();
