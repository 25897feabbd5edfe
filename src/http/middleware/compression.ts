import { constants, createZstdCompress, zstdCompressSync } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import compress from '@fastify/compress';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { REST_ENDPOINTS } from '../rest/endpoints.ts';
import { isSubscription, isTrpcPath, mayContainSecrets, proceduresInPath } from '../trpc/trpc-protocol.ts';

/** Preferred first: zstd takes a third of the time of the others for the same size. */
export const ENCODINGS = ['zstd', 'br', 'gzip'] as const;
type Encoding = (typeof ENCODINGS)[number];

/** Below this size, compression costs more time than it saves. */
const MIN_BYTES = 1024;
/** As a power of two: 256 KiB. The libraries' defaults are larger, and each slow reader would occupy that memory. */
const WINDOW_BITS = 18;

const zstd = {
  params: {
    // The default, 3, holds 1.2 MB instead of 0.4 MB for each slow reader, and makes lists no smaller.
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_windowLog]: WINDOW_BITS,
  },
};

/** Streams flush each chunk, so that a client can process a page of a list before the next one is read. */
const OPTIONS = {
  brotliOptions: {
    flush: constants.BROTLI_OPERATION_FLUSH,
    params: {
      // The default, 11, takes hundreds of times as long.
      [constants.BROTLI_PARAM_QUALITY]: 4,
      [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
    },
  },
  zlibOptions: { flush: constants.Z_SYNC_FLUSH },
  // The plugin has no option for zstd.
  zlib: {
    createZstdCompress: () => createZstdCompress({ ...zstd, flush: constants.ZSTD_e_flush }),
    zstdCompressSync: (bytes: Buffer) => zstdCompressSync(bytes, zstd),
  },
};

/**
 * Compresses responses of the API in the encoding that the client prefers, except those with a strong ETag or with secrets: see
 * `mayCompress`.
 */
export const compressResponses = async (app: FastifyInstance): Promise<void> => {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { headers } = request.raw;
    const accepted = headers['accept-encoding'];
    // Leaves only the chosen encoding in the header for @fastify/compress.
    if (accepted !== undefined)
      headers['accept-encoding'] = mayCompress(request, reply)
        ? chooseEncoding(String(accepted))
        : 'identity';
    done(null, payload);
  });
  await app.register(compress, {
    encodings: [...ENCODINGS, 'identity'],
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

/** Chooses by `Accept-Encoding` (RFC 9110 §12.5.3). `identity` is the fallback. */
export const chooseEncoding = (acceptEncoding: string): Encoding | 'identity' => {
  const header = acceptEncoding.toLowerCase().replaceAll('x-gzip', 'gzip');
  // In the library, `*` would include an encoding with a weight of 0.
  const refused = new Set([...header.matchAll(REFUSED)].map(([, encoding]) => encoding));
  const supported = [...ENCODINGS, 'identity' as const].filter((encoding) => !refused.has(encoding));
  return negotiate(header, supported) ?? 'identity';
};

const REFUSED = /(?<![\w*-])([\w*-]+)\s*;\s*q\s*=\s*0(?:\.0*)?\s*(?=,|$)/g;

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
