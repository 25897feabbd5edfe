import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { API } from 'typescript/unstable/async';
import { makeOncePerRun, makeScratchFolder } from './files.ts';

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

/** What an editor shows for each of these expressions of a file, by the tsconfig.json beside it. */
export const describe = async (cwd: string, name: string, expressions: string[]): Promise<string[]> => {
  const file = join(cwd, name);
  const source = await readFile(file, 'utf8');
  const ends = expressions.map((expression) => source.indexOf(expression) + expression.length - 1);
  const api = new API({ cwd });
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [join(cwd, 'tsconfig.json')] });
    const checker = snapshot.getProjects()[0]?.checker;
    const symbols = (await checker?.getSymbolAtPosition(file, ends)) ?? [];
    return await Promise.all(
      symbols.map(
        async (symbol) => (symbol && (await checker?.getDocumentationCommentOfSymbol(symbol))) ?? '',
      ),
    );
  } finally {
    await api.close();
  }
};

const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, '../..');
const NPM = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];

export const installInto = (folder: string, ...packages: string[]) =>
  run('npm', ['install', ...NPM, ...packages], { cwd: folder });

/**
 * Packs a workspace, once per run. Without `prepare`, which `npm pack` runs too: it would build the console a second time, in
 * the folder that services of other tests are serving.
 * @returns the path of the archive
 */
export const packWorkspace = async (path: '.' | 'packaging/client'): Promise<string> => {
  const cwd = join(PROJECT, path);
  const name = path === '.' ? 'package' : 'client-package';
  const folder = await makeOncePerRun(name, async (target) => {
    await run('npm', ['run', 'prepack', ...NPM], { cwd });
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', target, ...NPM], { cwd });
  });
  const [archive = ''] = await readdir(folder);
  return join(folder, archive);
};

/** Packs the workspace and installs it with these packages in an empty folder. */
export const installWorkspace = async (path: '.' | 'packaging/client', ...packages: string[]) => {
  const archive = await packWorkspace(path);
  const { stdout } = await run('tar', ['-tzf', archive]);
  const folder = await makeScratchFolder();
  try {
    const app = folder.join('app');
    await mkdir(app);
    await writeFile(join(app, 'package.json'), '{"name": "app", "private": true, "type": "module"}');
    await installInto(app, archive, ...packages);
    return { folder, archive, files: stdout.trim().split('\n').sort(), app };
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
};
