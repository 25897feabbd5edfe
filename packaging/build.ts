import { chmod, cp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'vite';
import { compile, PROJECT } from './compile.ts';

/** Builds `dist/`, or the folder of the first argument, because Node does not strip types under `node_modules`. */
const [DIST = join(PROJECT, 'dist')] = process.argv.slice(2);

await rm(DIST, { recursive: true, force: true });
compile('tsconfig.programs.json', DIST);
// Style sheets, templates and browser scripts are next to the modules that read them.
await cp(join(PROJECT, 'src'), join(DIST, 'src'), {
  recursive: true,
  filter: (file) => !/\.ts$|\/cli(\/[^/]+)?\.js$/.test(file),
});
await build({
  configFile: join(PROJECT, 'console', 'vite.config.ts'),
  // Not `console/dist`, which a service that runs from the sources may be serving.
  build: { outDir: resolve(DIST, 'console', 'dist') },
  logLevel: 'warn',
});
await chmod(join(DIST, 'src', 'cli.js'), 0o755);
