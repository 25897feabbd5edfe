import { spawnSync } from 'node:child_process';
import { chmod, copyFile, cp, glob, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Makes `dist/`, which is what the package runs: Node strips no types under `node_modules`. Declarations are there for
 * the client alone.
 */
const PROJECT = dirname(import.meta.dirname);
const DIST = join(PROJECT, 'dist');
const TSC = join(PROJECT, 'node_modules', 'typescript', 'bin', 'tsc');

/** What the declarations of the client consist of. */
const DECLARATIONS = [
  'src/client.d.ts',
  'src/client/*.d.ts',
  'src/core/{limits,problems}.d.ts',
  'packaging/*.d.ts',
];
/** Takes the place of the one that leads to the router itself, and so to all types of the server. */
const APP_ROUTER = `export type { AppRouter } from '../../packaging/app-router.ts';\n`;

const compile = (project: string, outDir: string): void => {
  const options = ['--project', join(import.meta.dirname, project), '--outDir', outDir];
  const { status } = spawnSync(process.execPath, [TSC, ...options], { cwd: PROJECT, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${project} does not compile.`);
};

const copyFrom = async (from: string, pattern: string): Promise<void> => {
  for await (const file of glob(pattern, { cwd: from })) {
    await mkdir(dirname(join(DIST, file)), { recursive: true });
    await copyFile(join(from, file), join(DIST, file));
  }
};

const buildPrograms = async (): Promise<void> => {
  compile('tsconfig.programs.json', DIST);
  // Style sheets, templates and what browsers run lie beside the modules that read them.
  await cp(join(PROJECT, 'src'), join(DIST, 'src'), {
    recursive: true,
    filter: (file) => !/\.ts$|\/cli(\/[^/]+)?\.js$/.test(file),
  });
  await chmod(join(DIST, 'src', 'cli.js'), 0o755);
};

const buildTypes = async (): Promise<void> => {
  const work = await mkdtemp(join(tmpdir(), 'steward-types-'));
  try {
    compile('tsconfig.types.json', work);
    for (const pattern of DECLARATIONS) await copyFrom(work, pattern);
    await writeFile(join(DIST, 'src', 'client', 'app-router.d.ts'), APP_ROUTER);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
};

await rm(DIST, { recursive: true, force: true });
await buildPrograms();
await buildTypes();
