import { constants } from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { REST_ENDPOINTS } from '../rest/endpoints.ts';
import { isSubscription, isTrpcPath, mayContainSecrets, proceduresInPath } from '../trpc/trpc-protocol.ts';

/** Below this size, compression costs more time than it saves. */
const MIN_BYTES = 1024;

/** Streams flush each chunk, so that a client can process a page of a list before the next one is read. */
const OPTIONS = {
  brotliOptions: {
    flush: constants.BROTLI_OPERATION_FLUSH,
    params: {
      // Takes a sixth of the time of the plugin's 4, and lists are 8 % larger.
      [constants.BROTLI_PARAM_QUALITY]: 1,
      // 256 KiB as a power of two. The default is larger, and each slow reader would occupy that memory.
      [constants.BROTLI_PARAM_LGWIN]: 18,
    },
  },
  zlibOptions: { flush: constants.Z_SYNC_FLUSH },
};

/**
 * Compresses responses of the API in the encoding that the client prefers, except those with a strong ETag or with secrets: see
 * `mayCompress`.
 */
export const compressResponses = async (app: FastifyInstance): Promise<void> => {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (!mayCompress(request, reply)) request.raw.headers['accept-encoding'] = 'identity';
    done(null, payload);
  });
  await app.register(compress, {
    encodings: ['br', 'gzip', 'identity'],
    threshold: MIN_BYTES,
    ...OPTIONS,
    globalDecompression: false,
  });
  // For HEAD, Fastify's own hook would drop the body before @fastify/compress has set the headers.
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD' && Array.isArray(route.onSend)) route.onSend.reverse();
  });
  // If a stream fails before its first byte, an uncompressed problem is sent instead.
  app.addHook('onError', async (_request, reply) => {
    reply.removeHeader('content-encoding');
  });
};

/**
 * Excludes pages and responses with secrets, because compressed length leaks secrets (BREACH), and responses with a strong
 * `ETag`, which identifies the uncompressed bytes; those are small.
 */
const mayCompress = ({ url, routeOptions }: FastifyRequest, reply: FastifyReply): boolean => {
  if (!COMPRESSIBLE_PATHS.test(url) || /^"/.test(String(reply.getHeader('etag') ?? ''))) return false;
  return isTrpcPath(url)
    ? !proceduresInPath(url).some((name) => mayContainSecrets(name) || isSubscription(name))
    : !uncompressedRoutes.has(routeOptions.url ?? '');
};

const COMPRESSIBLE_PATHS = /^\/(api|trpc|docs)\//;

/** Includes event streams: each would occupy the memory of a compressor for short events. */
const uncompressedRoutes = new Set([
  '/api/v1/csrf/',
  ...REST_ENDPOINTS.filter(({ rest }) => rest.hasSecrets || rest.isEventStream).map(({ url }) => url),
]);
