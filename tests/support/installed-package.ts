import { execFile } from 'node:child_process';
import { cp, glob, mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { makeScratchFolder } from './scratch-folder.ts';

/** As docs/client.md has it: the library names an older tRPC, of which there must not be two. */
const OVERRIDES = {
  '@trpc/tanstack-react-query': {
    '@trpc/client': manifest.dependencies['@trpc/client'],
    '@trpc/server': manifest.dependencies['@trpc/server'],
  },
};

const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, '../..');
const NPM = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
/** What users of React bring themselves. */
const FOR_REACT = ['@tanstack/react-query', '@trpc/tanstack-react-query', '@types/react', 'react'] as const;

/** The package as `npm pack` makes it, installed in a folder that has nothing else. */
export const installPackage = async () => {
  const folder = await makeScratchFolder();
  const { path } = folder;
  try {
    await run('npm', ['pack', ...NPM, '--pack-destination', path], { cwd: PROJECT });
    const tarball = join(path, `steward-${manifest.version}.tgz`);
    const { stdout } = await run('tar', ['-tzf', tarball]);
    await mkdir(folder.join('app'));
    const own = { name: 'front-end', private: true, type: 'module', overrides: OVERRIDES };
    await writeFile(folder.join('app', 'package.json'), JSON.stringify(own));
    const versions = FOR_REACT.map((name) => `${name}@${manifest.devDependencies[name]}`);
    await run('npm', ['install', ...NPM, tarball, ...versions], { cwd: folder.join('app') });
    for await (const file of glob(join(PROJECT, 'tests/fixtures/package/{typed,wrong,react}.ts')))
      await cp(file, folder.join('app', basename(file)));
    await cp(join(PROJECT, 'docs/examples/people.ts'), folder.join('app', 'people.ts'));
    return { folder, files: stdout.trim().split('\n'), app: folder.join('app') };
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
};
