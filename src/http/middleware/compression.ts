import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import { mayContainSecrets } from './compression-exclusions.ts';
import { chooseEncoding, ENCODINGS } from './content-encoding.ts';

/** Below, headers and the wait for the compressor outweigh what is saved. */
const MIN_BYTES = 1024;
/** As a power of two: 256 KiB. The larger windows of the defaults would be held for as long as a slow reader takes. */
const WINDOW_BITS = 18;

const brotli = {
  params: {
    // The default, 11, takes hundreds of times as long.
    [constants.BROTLI_PARAM_QUALITY]: 4,
    [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
  },
};
const zstd = { params: { [constants.ZSTD_c_windowLog]: WINDOW_BITS } };

/** Streams give out at once whatever they are given: nobody waits for the next page to read this one. */
const streaming = {
  createBrotliCompress: () => createBrotliCompress({ ...brotli, flush: constants.BROTLI_OPERATION_FLUSH }),
  createZstdCompress: () => createZstdCompress({ ...zstd, flush: constants.ZSTD_e_flush }),
  createGzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
};

const buffered = {
  brotliCompressSync: (bytes: Buffer) => brotliCompressSync(bytes, brotli),
  zstdCompressSync: (bytes: Buffer) => zstdCompressSync(bytes, zstd),
  gzipSync: (bytes: Buffer) => gzipSync(bytes),
};

/** Compresses answers of the API for those who ask for it, in the encoding that they like best. Bodies stay as they are. */
export const compressResponses = async (app: FastifyInstance): Promise<void> => {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { headers } = request.raw;
    const asked = headers['accept-encoding'];
    // What the library is left to choose from.
    if (asked !== undefined)
      headers['accept-encoding'] = mayCompress(request, reply) ? chooseEncoding(String(asked)) : 'identity';
    done(null, payload);
  });
  await app.register(compress, {
    encodings: [...ENCODINGS, 'identity'],
    threshold: MIN_BYTES,
    zlib: { ...streaming, ...buffered },
    globalDecompression: false,
  });
  // Fastify's handler drops what HEAD would send before the library has said how it would be sent.
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD' && Array.isArray(route.onSend)) route.onSend.reverse();
  });
  // A stream that fails before its first byte has gone is answered by a problem, which nobody compresses.
  app.addHook('onError', async (_request, reply) => {
    reply.removeHeader('content-encoding');
  });
};

/**
 * Takes no body that is compressed: a few kilobytes of one can be gigabytes.
 * @throws Problem `unsupported-media-type`
 */
export const refuseCompressedBodies = (app: Pick<FastifyInstance, 'addHook'>): void => {
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { headers } = request.raw;
    const encoding = headers['content-encoding'] ?? 'identity';
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (!hasBody || encoding.toLowerCase() === 'identity') return done(null, payload);
    reply.header('accept-encoding', 'identity');
    done(new Problem('unsupported-media-type', { detail: 'The body must not be compressed.' }));
  });
};

/**
 * Pages are left out, and so is what tells a secret: how well that compresses would tell it to whoever listens and can
 * put a text of their own beside it (BREACH). A strong `ETag` names the bytes of one form, and stands on small answers.
 */
const mayCompress = (request: FastifyRequest, reply: FastifyReply): boolean =>
  OF_PROGRAMS.test(request.url) && !reply.hasHeader('etag') && !mayContainSecrets(request);

const OF_PROGRAMS = /^\/(api|trpc|docs)\//;
