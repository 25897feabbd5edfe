import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CLIENT_SOURCE } from '../fixtures/steward-from-sources.ts';

const bundle = suite('client bundle');

const MAX_BYTES = 20_000;

bundle('is smaller than 20 KB including tRPC, and contains no server code', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [CLIENT_SOURCE],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
  });
  const [file] = outputFiles;
  const sources = Object.keys(metafile.inputs).filter((path) => !path.includes('node_modules'));
  const packages = new Set(
    Object.keys(metafile.inputs).flatMap(
      (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
    ),
  );

  const sizeBytes = gzipSync(file?.contents ?? '', { level: 9 }).length;
  assert.ok(sizeBytes > 1000 && sizeBytes < MAX_BYTES, `${sizeBytes} bytes`);
  assert.equal(
    sources.filter((path) => !/^src\/(client[/.]|lib\/trpc-limits\.ts$)/.test(path)),
    [],
  );
  assert.equal([...packages].sort(), [
    '@trpc/client',
    '@trpc/server',
    'copy-anything',

    'superjson',
  ]);
});

bundle.run();
