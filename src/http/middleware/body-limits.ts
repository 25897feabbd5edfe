import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';

type Hookable = Pick<FastifyInstance, 'addHook'>;

/**
 * Refuses bodies that would take too much memory, before they are read. Runs after the hooks and the authentication of the
 * route, in `preParsing`: callers with valid credentials have a separate budget.
 */
export const limitBodies = (app: Hookable): void => {
  refuseCompressedBodies(app);
  limitBodyMemory(app);
  discardRefusedBodies(app);
};

/**
 * Smaller bodies are not counted, so that logins, which may have this size, still work while large uploads fill the budget. Two thousand
 * connections with one such body each take 32 MiB.
 */
const SMALL_BYTES = 16 * 1024;
/** A body is in memory as a buffer, a string and objects, which takes several times its size. */
const AUTHENTICATED_BYTES = 32 * 1024 * 1024;
/** Separate, so that anonymous uploads cannot block uploads of authenticated callers. */
const ANONYMOUS_BYTES = 8 * 1024 * 1024;

const isChunked = ({ headers }: FastifyRequest): boolean => headers['transfer-encoding'] !== undefined;

const declaredBytes = ({ headers }: FastifyRequest): number => Number(headers['content-length'] ?? 0);

/** Whether the body is, or may become, large enough to be counted. */
export const hasLargeBody = (request: FastifyRequest): boolean =>
  isChunked(request) || declaredBytes(request) > SMALL_BYTES;

/**
 * Limits the memory of all request bodies together. A body is refused before it is read; a chunked one may become as large as its route
 * allows. The memory is released when the response has been sent.
 */
const limitBodyMemory = (app: Hookable): void => {
  const free = { authenticated: AUTHENTICATED_BYTES, anonymous: ANONYMOUS_BYTES };
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const { bodyLimit } = request.routeOptions;
    const bytes = isChunked(request) ? bodyLimit : declaredBytes(request);
    // Fastify refuses a body over the limit of its route without reading it.
    if (!hasLargeBody(request) || bytes > bodyLimit) return done();
    // The connection was lost during the authentication, so nothing would release the memory.
    if (request.raw.socket.destroyed) return done();
    const budget = request.state.userId === undefined ? 'anonymous' : 'authenticated';
    if (bytes > free[budget]) return done(new Problem('overloaded', TOO_MANY_BODIES));
    free[budget] -= bytes;
    reply.raw.once('close', () => {
      free[budget] += bytes;
    });
    done();
  });
};

const TOO_MANY_BODIES = { detail: 'Too many large uploads are in progress. Try again shortly.' };

/**
 * Refuses compressed bodies: a few kilobytes can expand to gigabytes.
 * @throws Problem `unsupported-media-type`
 */
const refuseCompressedBodies = (app: Hookable): void => {
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
 * Frees each chunk of a refused body when it arrives. The body must be read, or the connection would be reset before the client reads the
 * response. If left to garbage collection, 100 MB of chunks pile up.
 */
const discardRefusedBodies = (app: Hookable): void => {
  app.addHook('onError', ({ raw }, _reply, _error, done) => {
    if (!raw.readableDidRead) raw.on('data', freeBuffer);
    done();
  });
};

const freeBuffer = ({ buffer, byteLength }: Buffer<ArrayBuffer>): void => {
  // Small buffers share their memory with others.
  if (byteLength === buffer.byteLength) buffer.transfer(0);
};
