import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCommonPasswords } from '../../src/adapters/hashing/common-passwords.ts';

const run = promisify(execFile);

const commonPasswords = suite('common passwords');

/** Prints whether the list is among the modules before and after a first call. Node resolves the package to CommonJS. */
const PROGRAM = `
  import { createRequire } from 'node:module';
  import { loadCommonPasswords } from './src/adapters/hashing/common-passwords.ts';
  const { cache } = createRequire(import.meta.url);
  const isLoaded = () => Object.keys(cache).some((file) => file.includes('language-common'));
  const before = isLoaded();
  await loadCommonPasswords();
  console.log(before, isLoaded());`;

commonPasswords('are not loaded before the first call', async () => {
  const args = ['--input-type=module', '--eval', PROGRAM];
  const { stdout } = await run(process.execPath, args, { cwd: join(import.meta.dirname, '../..') });

  assert.is(stdout, 'false true\n');
});

commonPasswords('are at least 20,000, in lower case', async () => {
  const words = [...(await loadCommonPasswords())];

  assert.ok(words.length >= 20_000);
  assert.equal(
    words.filter((word) => word !== word.toLowerCase()),
    [],
  );
});

commonPasswords.run();
