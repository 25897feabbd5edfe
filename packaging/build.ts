import { chmod, cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
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
const CONSOLE = join(PROJECT, 'console');
await build({ configFile: join(CONSOLE, 'vite.config.ts'), logLevel: 'warn' });
await cp(join(CONSOLE, 'dist'), join(DIST, 'console', 'dist'), { recursive: true });
await chmod(join(DIST, 'src', 'cli.js'), 0o755);
