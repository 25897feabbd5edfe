import { copyFile, glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { compile, PROJECT } from './compile.ts';
import { withDescriptions } from './describe-procedures.ts';

/** Builds `dist` of `@steward/client`. The compiler emits the whole server; only the files of `KEPT` are copied. */
const PACKAGE = join(import.meta.dirname, 'client');
const DIST = join(PACKAGE, 'dist');
const KEPT = [
  'src/client.{js,d.ts}',
  'src/client/*.{js,d.ts}',
  'src/lib/{exact-json,ticket-claims,trpc-limits}.{js,d.ts}',
  'src/lib/problems.d.ts',
  'packaging/{app-router,procedures}.d.ts',
];
/** Modules of types only. */
const EMPTY = 'src/client/{app-router,types}.js';
/** Replaces the declaration that imports the router and with it all types of the server. */
const APP_ROUTER = `export type { AppRouter } from '../../packaging/app-router.ts';\n`;

const work = await mkdtemp(join(tmpdir(), 'steward-client-'));
try {
  compile('tsconfig.client.json', work);
  await rm(DIST, { recursive: true, force: true });
  for await (const file of glob(KEPT, { cwd: work, exclude: [EMPTY] })) {
    await mkdir(dirname(join(DIST, file)), { recursive: true });
    await copyFile(join(work, file), join(DIST, file));
  }
  await writeFile(join(DIST, 'src', 'client', 'app-router.d.ts'), APP_ROUTER);
  const procedures = join(DIST, 'packaging', 'procedures.d.ts');
  await writeFile(procedures, withDescriptions(await readFile(procedures, 'utf8')));
  await copyFile(join(PROJECT, 'LICENSE'), join(PACKAGE, 'LICENSE'));
} finally {
  await rm(work, { recursive: true, force: true });
}
