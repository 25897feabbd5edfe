import { execFile } from 'node:child_process';
import { join } from 'node:path';

export const TSC = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');

/** Type-checks one file: the errors, one per line, and the number of type instantiations. */
export const compile = (cwd: string, file: string, options: string[]) =>
  new Promise<{ errors: string[]; instantiations: number }>((resolve) => {
    const all = ['--ignoreConfig', '--noEmit', '--strict', '--extendedDiagnostics', ...options, file];
    execFile(process.execPath, [TSC, ...all], { cwd, maxBuffer: Infinity }, (_failed, stdout) =>
      resolve({
        errors: stdout.split('\n').filter((line) => line.includes('error TS')),
        instantiations: Number(/^Instantiations:\s+(\d+)/m.exec(stdout)?.[1]),
      }),
    );
  });
