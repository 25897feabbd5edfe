import { glob, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const SERVICE = process.env.STEWARD_URL ?? 'http://127.0.0.1:8000';

/** The paths that the service answers during development. */
const PROXIED = ['/api', '/trpc', '/avatars', '/launch', '/login', '/password'];

/** Writes a compressed copy beside each text file, so that the service compresses nothing per request. */
const precompress = (): Plugin => ({
  name: 'precompress',
  apply: 'build',
  writeBundle: async ({ dir = '' }) => {
    for await (const file of glob('**/*.{js,css,html,svg}', { cwd: dir })) {
      const path = join(dir, file);
      const content = await readFile(path);
      await writeFile(`${path}.br`, await promisify(brotliCompress)(content));
      await writeFile(`${path}.gz`, await promisify(gzip)(content));
    }
  },
});

const SUBSCRIPTION_LINK = fileURLToPath(new URL('../src/client/subscription-link.ts', import.meta.url));
const COPY = '?subscription';
const SHARED_FILES = /\/@trpc\/(client\/dist\/index|server\/dist\/(unstable-core|resolveResponse))/;

/**
 * The packages of tRPC have all links in one file, and a file is in one chunk: that of the first screen. Subscriptions, which are loaded
 * later, get copies of these files, of which all but their own code is dropped.
 */
const splitSubscriptions = (): Plugin => ({
  name: 'split-subscriptions',
  apply: 'build',
  enforce: 'pre',
  async resolveId(source, importer) {
    if (importer !== SUBSCRIPTION_LINK && !importer?.endsWith(COPY)) return null;
    const resolved = await this.resolve(source, importer.replace(COPY, ''), { skipSelf: true });
    return resolved && SHARED_FILES.test(resolved.id) ? { ...resolved, id: resolved.id + COPY } : resolved;
  },
  load: (id) => (id.endsWith(COPY) ? readFile(id.replace(COPY, ''), 'utf8') : null),
});

const FONT_LICENSE = fileURLToPath(
  new URL('../node_modules/@fontsource-variable/inter/LICENSE', import.meta.url),
);

/** The license of the font goes wherever the font goes. */
const fontLicense = (): Plugin => ({
  name: 'font-license',
  apply: 'build',
  async generateBundle() {
    const source = await readFile(FONT_LICENSE);
    this.emitFile({ type: 'asset', fileName: 'assets/inter-license.txt', source });
  },
});

const CONTROLS =
  /@mantine\/core\/esm\/components\/(Checkbox|Combobox|InlineInput|InputBase|Radio|SegmentedControl|Select|Switch|Table|Textarea|TextInput)\//;

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react(), splitSubscriptions(), fontLicense(), precompress()],
  resolve: {
    alias: { '@steward/client': fileURLToPath(new URL('../src/client.ts', import.meta.url)) },
  },
  build: {
    // The Content-Security-Policy allows neither inline scripts nor fonts and images within files.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    // What every screen needs is one file, and the controls of most screens another: they load sooner than many small ones.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'start', tags: ['$initial'] },
            { name: 'controls', test: CONTROLS },
          ],
        },
      },
    },
  },
  server: { proxy: Object.fromEntries(PROXIED.map((path) => [path, SERVICE])) },
});
