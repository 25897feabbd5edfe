import { chmod, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { runCommand } from '../support/service-process.ts';

/** An invalid setting ends the command after it has loaded the modules that read settings. */
const REFUSED = { PORT: 'none', NODE_COMPILE_CACHE: '' };
const MISUSED = 2;

const codeCache = suite('code cache');

const filesOf = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
};

codeCache('is not used if others can write to it', async () => {
  for (const open of ['.', 'code-cache']) {
    await using scratch = await makeScratchFolder();
    await mkdir(join(scratch.path, 'code-cache'));
    await chmod(join(scratch.path, open), 0o777);

    const { code } = await runCommand(['serve'], { ...REFUSED, DATA_DIR: scratch.path });

    assert.is(code, MISUSED);
    assert.equal(await filesOf(join(scratch.path, 'code-cache')), []);
  }
});

codeCache.run();
