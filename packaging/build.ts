import { chmod, cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { compile, PROJECT } from './compile.ts';

/** Makes `dist/`, which is what the package runs: Node strips no types under `node_modules`. */
const DIST = join(PROJECT, 'dist');

await rm(DIST, { recursive: true, force: true });
compile('tsconfig.programs.json', DIST);
// Style sheets, templates and what browsers run lie beside the modules that read them.
await cp(join(PROJECT, 'src'), join(DIST, 'src'), {
  recursive: true,
  filter: (file) => !/\.ts$|\/cli(\/[^/]+)?\.js$/.test(file),
});
await chmod(join(DIST, 'src', 'cli.js'), 0o755);
