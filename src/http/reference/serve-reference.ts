import type { FastifyInstance } from 'fastify';
import { notFound } from '../../lib/problems.ts';
import { headOf } from '../pages/head.ts';
import { type Html, html } from '../pages/html.ts';
import { makeStyle } from '../pages/style-sheet.ts';
import { refuseOtherMethods } from '../rest/methods.ts';
import { createBrowserScripts, sendScript } from './browser-scripts.ts';

const SHOWN = ['GET', 'HEAD'];
const style = makeStyle(new URL('browser/reference.css', import.meta.url));

/** `/docs/`: the reference of the API, which Scalar makes in the browser of the API's own description. */
export const serveReference = (app: FastifyInstance): void => {
  const scripts = createBrowserScripts();

  app.get('/docs/', async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('content-security-policy', POLICY)
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'strict-origin')
      .header('cross-origin-opener-policy', 'same-origin')
      .header('cross-origin-resource-policy', 'same-origin')
      .send(documentOf((await scripts()).map(({ file }) => file)).toString()),
  );

  app.get<{ Params: { file: string } }>('/docs/:file', async (request, reply) => {
    const script = (await scripts()).find(({ file }) => file === request.params.file);
    if (!script) throw notFound('file');
    return sendScript(request, reply, script);
  });

  refuseOtherMethods(app, new Map(['/docs/', '/docs/:file'].map((url) => [url, SHOWN])));
};

/** Scalar and its editor write styles into elements and attributes, whose hashes nobody can know in advance. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const documentOf = (
  files: readonly string[],
): Html => html`${headOf({ title: 'Reference – Steward API', icon: '/avatars/S.svg', sheet: style.sheet })}
<body>
<div id="reference"></div>
<noscript><p>The reference needs a script to show <a href="/api/v1/openapi.json">the description of the API</a>.</p></noscript>
${files.map((file) => html`<script src="/docs/${file}"></script>\n`)}
</body>
</html>
`;
