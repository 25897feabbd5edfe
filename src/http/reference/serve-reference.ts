import type { FastifyInstance } from 'fastify';
import { notFound } from '../../lib/problems.ts';
import { type Html, html } from '../pages/html.ts';
import { createStyleSheet, htmlDocument, sendHtml } from '../pages/page-layout.ts';
import { refuseOtherMethods } from '../rest/methods.ts';
import { createScriptLoader, sendScript } from './browser-scripts.ts';

const style = createStyleSheet(new URL('browser/reference.css', import.meta.url));

/** `/docs/`: the API reference. Scalar renders it in the browser from the OpenAPI document. */
export const serveReference = (app: FastifyInstance): void => {
  const loadScripts = createScriptLoader();

  app.get('/docs/', async (_request, reply) => {
    const scripts = await loadScripts();
    return sendHtml(reply, referenceDocument(scripts.map(({ fileName }) => fileName)), {
      'script-src': "'self'",
      // Scalar and its editor set inline styles, whose hashes are not known in advance.
      'style-src': "'unsafe-inline'",
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'form-action': "'none'",
    });
  });

  app.get<{ Params: { file: string } }>('/docs/:file', async (request, reply) => {
    const script = (await loadScripts()).find(({ fileName }) => fileName === request.params.file);
    if (!script) throw notFound('file');
    return sendScript(request, reply, script);
  });

  refuseOtherMethods(app, ['/docs/', '/docs/:file']);
};

const referenceDocument = (scriptFiles: readonly string[]): Html =>
  htmlDocument({
    title: 'API reference – Steward',
    icon: '/avatars/S.svg',
    style,
    body: html`<div id="reference"></div>
<noscript><p>The API reference needs JavaScript. Without it, read the <a href="/api/v1/openapi.json">OpenAPI document</a>.</p></noscript>
${scriptFiles.map((file) => html`<script src="/docs/${file}"></script>\n`)}`,
  });
