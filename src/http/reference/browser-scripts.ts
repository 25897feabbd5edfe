import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';

const HASH_LENGTH = 16;

export type BrowserScript = {
  /** Contains a hash of the content, so that browsers may cache it forever. */
  fileName: string;
  content: Buffer;
  gzipped: Buffer;
};

/** Returns a function that loads the scripts of the reference on first use, in the order they run. Failures are retried. */
export const createScriptLoader = () => {
  let loading: Promise<BrowserScript[]> | undefined;
  return (): Promise<BrowserScript[]> => {
    loading ??= loadScripts().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
};

const loadScripts = (): Promise<BrowserScript[]> =>
  Promise.all([
    loadScalar().then((content) => createScript('scalar', content)),
    loadFile('accessibility-fixes'),
    loadFile('start'),
  ]);

const loadFile = async (name: string): Promise<BrowserScript> =>
  createScript(name, await readFile(new URL(`browser/${name}.js`, import.meta.url)));

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
export const sendScript = (
  request: FastifyRequest,
  reply: FastifyReply,
  { content, gzipped }: BrowserScript,
): FastifyReply => {
  reply
    .type('text/javascript; charset=utf-8')
    .header('vary', 'accept-encoding')
    .header('cache-control', 'public, max-age=31536000, immutable')
    .header('x-content-type-options', 'nosniff')
    .header('cross-origin-resource-policy', 'same-origin');
  if (request.accepts().encoding(['gzip', 'identity']) !== 'gzip') return reply.send(content);
  return reply.header('content-encoding', 'gzip').send(gzipped);
};
