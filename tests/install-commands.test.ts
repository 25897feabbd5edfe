import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const PROJECT = join(import.meta.dirname, '..');
const DOCUMENTED = ['README.md', 'docs/**/*.{md,ts,tsx,sh,py}', 'packaging/**/*.{md,ts}'];
const REGISTRY_COMMAND = /\b(?:(?:npm|pnpm|yarn|bun) (?:install|i|add|exec|dlx|x|create)|npx|bunx)\b(.*)/g;
/** By name, and not as a path to a tarball or a workspace. */
const OWN_NAME = /(?<![\w./-])(?:@steward\/[\w-]+|steward)(?![\w.-]*\.tgz)(?=[\s@`]|$)/;

const documents = suite('install commands of the documentation');

documents('never name a package of ours, which a registry does not have', async () => {
  const faults: string[] = [];
  let commands = 0;
  for await (const file of glob(DOCUMENTED, {
    cwd: PROJECT,
    exclude: ['**/node_modules/**', '**/dist/**'],
  })) {
    const source = await readFile(join(PROJECT, file), 'utf8');
    for (const [command, words = ''] of source.matchAll(REGISTRY_COMMAND)) {
      commands += 1;
      if (OWN_NAME.test(words)) faults.push(`${file}: ${command}`);
    }
  }

  assert.ok(commands > 5, `${commands} commands`);
  assert.equal(faults, []);
});

documents.run();
