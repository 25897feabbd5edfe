// Shows the page at http://localhost:3000, and passes all else on to Steward: both are one site to the browser.
//   npm install steward esbuild react react-dom @tanstack/react-query @trpc/tanstack-react-query
//   node serve.ts
import { readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { build } from 'esbuild';

const FOLDER = import.meta.dirname;

type Options = { steward: string; alias?: Record<string, string> };

export const createPageServer = async ({ steward, alias = {} }: Options) => {
  const bundle = await build({
    entryPoints: [join(FOLDER, 'people.tsx')],
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    alias,
  });
  const files = new Map([
    ['/', ['text/html', await readFile(join(FOLDER, 'index.html'), 'utf8')]],
    ['/people.css', ['text/css', await readFile(join(FOLDER, 'people.css'), 'utf8')]],
    ['/people.js', ['text/javascript', bundle.outputFiles[0]?.text ?? '']],
  ]);

  return createServer((incoming, outgoing) => {
    const [type, content] = files.get(incoming.url ?? '') ?? [];
    if (type !== undefined) return outgoing.setHeader('content-type', `${type}; charset=utf-8`).end(content);
    // The `Host` stays: by it Steward knows its own pages from those of other sites.
    const { method = 'GET', headers } = incoming;
    const passedOn = request(new URL(incoming.url ?? '/', steward), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passedOn.on('error', () => outgoing.writeHead(502).end('Steward does not answer.'));
    return incoming.pipe(passedOn);
  });
};

if (process.argv[1] === import.meta.filename) {
  const server = await createPageServer({ steward: process.env.STEWARD_URL ?? 'http://localhost:8000' });
  server.listen(3000, 'localhost', () => console.log('http://localhost:3000'));
}
