import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import manifest from '../../packaging/client/package.json' with { type: 'json' };
import { CLIENT_SOURCE } from '../fixtures/steward-from-sources.ts';

const bundle = suite('client bundle');

const MAX_BYTES = 20_000;

const kilobytes = (bytes: number): string => `${Math.round(bytes / 1000)} KB`;

bundle('is smaller than 20 KB including tRPC, and contains no server code', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [CLIENT_SOURCE],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    splitting: true,
    outdir: 'bundle',
  });
  const isLoadedLater = ({ path }: { path: string }): boolean => path.includes('subscription-link');
  const loaded = outputFiles.filter((file) => !isLoadedLater(file));
  const sources = Object.keys(metafile.inputs).filter((path) => !path.includes('node_modules'));
  const packages = new Set(
    Object.keys(metafile.inputs).flatMap(
      (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
    ),
  );

  const sizeBytes = loaded.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
  const minifiedBytes = loaded.reduce((sum, { contents }) => sum + contents.length, 0);
  const document = await readFile(join(import.meta.dirname, '../../docs/trpc.md'), 'utf8');
  const row = `| ${kilobytes(minifiedBytes)} | ${kilobytes(sizeBytes)} |`;
  const missing = `docs/trpc.md does not say ${row}`;
  assert.match(document, `all other exports, including tRPC ${row}`, missing);
  assert.is(outputFiles.length, loaded.length + 1);
  assert.ok(sizeBytes > 1000 && sizeBytes < MAX_BYTES, `${sizeBytes} bytes`);
  const foreign = sources.filter((path) => !/^src\/(client[/.]|lib\/trpc-limits\.ts$)/.test(path));
  assert.equal(foreign, []);
  assert.equal([...packages].sort(), [
    '@trpc/client',
    '@trpc/server',
    'copy-anything',
    'eventsource',
    'eventsource-parser',
    'superjson',
  ]);
});

/** The sources, with the side effects that the manifest of the package states. */
const asPackaged: Plugin = {
  name: 'as-packaged',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path),
      sideEffects: manifest.sideEffects,
    }));
  },
};

bundle('has less than 1 KB if it only recognizes problems, without superjson and tRPC', async () => {
  const contents = "export { fieldErrors, isProblem } from './client.ts';";
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: dirname(CLIENT_SOURCE), loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    plugins: [asPackaged],
  });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs));

  assert.not.match(inputs.join(), 'node_modules');
  assert.ok((outputFiles[0]?.contents.length ?? Infinity) < 1000);
});

bundle.run();
