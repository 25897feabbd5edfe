import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeScratchFolder } from './files.ts';

export const TSC = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');

/** A second checker would derive the types of the router again, which takes most of the time. */
const CHECKS = ['--ignoreConfig', '--noEmit', '--strict', '--checkers', '1', '--extendedDiagnostics'];

/** Type-checks one file: the errors, one per line, and the number of type instantiations. */
export const compile = (cwd: string, file: string, options: string[]) =>
  new Promise<{ errors: string[]; instantiations: number }>((resolve) => {
    const all = [TSC, ...CHECKS, ...options, file];
    execFile(process.execPath, all, { cwd, maxBuffer: Infinity }, (_failed, stdout) =>
      resolve({
        errors: stdout.split('\n').filter((line) => line.includes('error TS')),
        instantiations: Number(/^Instantiations:\s+(\d+)/m.exec(stdout)?.[1]),
      }),
    );
  });

const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, '../..');
const NPM = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];

export const installInto = (folder: string, ...packages: string[]) =>
  run('npm', ['install', ...NPM, ...packages], { cwd: folder });

/** Packs one workspace with `npm pack` into a new folder. */
const packWorkspace = async (path: '.' | 'packaging/client') => {
  const folder = await makeScratchFolder();
  try {
    const options = ['--json', '--pack-destination', folder.path];
    const packing = await run('npm', ['pack', ...NPM, ...options], { cwd: join(PROJECT, path) });
    const [, name = ''] = /"filename": "([^"]+)"/.exec(packing.stdout) ?? [];
    const tarball = folder.join(name);
    const { stdout } = await run('tar', ['-tzf', tarball]);
    return { folder, tarball, files: stdout.trim().split('\n').sort() };
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
};

/** Packs the workspace and installs it with these packages in an empty folder. */
export const installWorkspace = async (path: '.' | 'packaging/client', ...packages: string[]) => {
  const packed = await packWorkspace(path);
  try {
    const app = packed.folder.join('app');
    await mkdir(app);
    await writeFile(join(app, 'package.json'), '{"name": "app", "private": true, "type": "module"}');
    await installInto(app, packed.tarball, ...packages);
    return { ...packed, app };
  } catch (error) {
    await packed.folder[Symbol.asyncDispose]();
    throw error;
  }
};
