import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { html } from '../../lib/html.ts';
import { notFound } from '../../lib/problems.ts';
import { createStyleSheet, sendHtml } from '../pages/page-layout.ts';
import { refuseOtherMethods } from '../rest/methods.ts';

const style = createStyleSheet([new URL('browser/reference.css', import.meta.url)]);

/** `/docs/`: the API reference. Scalar renders it in the browser from the OpenAPI document. */
export const serveReference = (app: FastifyInstance): void => {
  app.get('/docs/', async (_request, reply) => {
    const scripts = await loadReferenceScripts();
    return sendHtml(reply, {
      title: 'API reference – Steward',
      style,
      body: html`<div id="reference"></div>
<noscript><p>The API reference needs JavaScript. Without it, read the <a href="/api/v1/openapi.json">OpenAPI document</a>.</p></noscript>
${scripts.map(({ fileName }) => html`<script src="/docs/${fileName}"></script>\n`)}`,
      csp: {
        'script-src': "'self'",
        // Scalar and its editor set inline styles, whose hashes are not known in advance.
        'style-src': "'unsafe-inline'",
        'img-src': "'self' data:",
        'connect-src': "'self'",
        'form-action': "'none'",
      },
    });
  });

  app.get<{ Params: { file: string } }>('/docs/:file', async (request, reply) => {
    const script = (await loadReferenceScripts()).find(({ fileName }) => fileName === request.params.file);
    if (!script) throw notFound('file');
    return sendScript(reply, script);
  });

  refuseOtherMethods(app, ['/docs/', '/docs/:file']);
};

const HASH_LENGTH = 16;

type BrowserScript = {
  /** Contains a hash of the content, so that browsers may cache it forever. */
  fileName: string;
  content: Buffer;
  gzipped: Buffer;
};

let loading: Promise<BrowserScript[]> | undefined;

/** Loads the scripts of the reference on first use, in the order they run. Failures are retried. */
const loadReferenceScripts = (): Promise<BrowserScript[]> => {
  loading ??= loadScripts().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
};

const loadScripts = async (): Promise<BrowserScript[]> => [
  await createScript('scalar', await loadScalar()),
  await createScript('start', await readFile(new URL('browser/start.js', import.meta.url))),
];

const createScript = async (name: string, content: Buffer): Promise<BrowserScript> => ({
  fileName: `${name}-${createHash('sha256').update(content).digest('hex').slice(0, HASH_LENGTH)}.js`,
  content,
  gzipped: await promisify(gzip)(content),
});

const SCALAR_PREFIX = '/scalar';

/**
 * Loads Scalar's browser script, 4 MB that its Fastify plugin keeps in memory. The plugin is imported on demand and
 * registered in a temporary server, because its own page would need a looser Content-Security-Policy than ours.
 */
const loadScalar = async (): Promise<Buffer> => {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const server = fastify();
  try {
    await server.register(scalar, { routePrefix: SCALAR_PREFIX, configuration: { url: '/' } });
    const { rawPayload, statusCode } = await server.inject(`${SCALAR_PREFIX}/js/scalar.js`);
    if (statusCode !== 200) throw new Error(`Scalar's plugin served its script with status ${statusCode}.`);
    return rawPayload;
  } finally {
    await server.close();
  }
};

/** Sends an immutable script, compressed if the client accepts gzip. */
const sendScript = (reply: FastifyReply, { content, gzipped }: BrowserScript) => {
  reply
    .type('text/javascript; charset=utf-8')
    .header('vary', 'accept-encoding')
    .header('cache-control', 'public, max-age=31536000, immutable');
  if (reply.request.accepts().encoding(['gzip', 'identity']) !== 'gzip') return reply.send(content);
  return reply.header('content-encoding', 'gzip').send(gzipped);
};
