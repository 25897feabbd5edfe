import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/scratch-folder.ts';
import { runCommand } from '../support/service-process.ts';

/** A setting that is refused ends the command early, when it has loaded what reads settings. */
const REFUSED = { PORT: 'none', NODE_COMPILE_CACHE: '' };
const MISUSED = 2;

const codeCache = suite('the code cache');

const filesOf = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
};

codeCache('is kept in DATA_DIR, for its owner alone', async () => {
  await using scratch = await makeScratchFolder();
  const dataDir = join(scratch.path, 'data');

  const { code } = await runCommand(['serve'], { ...REFUSED, DATA_DIR: dataDir });

  const { mode } = await stat(join(dataDir, 'code-cache'));
  assert.is(code, MISUSED);
  assert.is(mode & 0o777, 0o700);
  assert.ok((await filesOf(join(dataDir, 'code-cache'))).length > 20);
});

codeCache('is not used where others may write', async () => {
  for (const open of ['.', 'code-cache']) {
    await using scratch = await makeScratchFolder();
    await mkdir(join(scratch.path, 'code-cache'));
    await chmod(join(scratch.path, open), 0o777);

    const { code } = await runCommand(['serve'], { ...REFUSED, DATA_DIR: scratch.path });

    assert.is(code, MISUSED);
    assert.equal(await filesOf(join(scratch.path, 'code-cache')), []);
  }
});

codeCache('is made by those commands alone that make DATA_DIR', async () => {
  await using scratch = await makeScratchFolder();

  const { code } = await runCommand(['migrate'], { ...REFUSED, DATA_DIR: join(scratch.path, 'data') });

  assert.is(code, MISUSED);
  assert.equal(await readdir(scratch.path), []);
});

codeCache('is done without where DATA_DIR cannot be made', async () => {
  const { code, stderr } = await runCommand(['serve'], { ...REFUSED, DATA_DIR: '/proc/steward/data' });

  assert.is(code, MISUSED);
  assert.match(stderr, /^Bad setting PORT: .*\n$/);
});

codeCache.run();
