import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';

export const PROJECT = dirname(import.meta.dirname);
const TSC = join(PROJECT, 'node_modules', 'typescript', 'bin', 'tsc');

/** @param project file name of a tsconfig in this folder */
export const compile = (project: string, outDir: string): void => {
  // Each checker would derive the types of the router, which are most of the work.
  const options = ['--checkers', '1', '--project', join(import.meta.dirname, project), '--outDir', outDir];
  const { status } = spawnSync(process.execPath, [TSC, ...options], { cwd: PROJECT, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${project} did not compile.`);
};
