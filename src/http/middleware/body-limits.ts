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
 * Smaller bodies are not counted, so that logins, which may have this size, still work while large uploads fill the budget. Two
 * thousand connections that hold one each take 32 MiB.
 */
const SMALL_BYTES = 16 * 1024;
/** A body is in memory as a buffer, a string and objects, which takes several times its size. */
const AUTHENTICATED_BYTES = 32 * 1024 * 1024;
/** Separate, so that anonymous uploads cannot block those of authenticated callers. */
const ANONYMOUS_BYTES = 8 * 1024 * 1024;

/** The upper bound of the body's size according to the headers; 0 if there is no body. */
const bodyBytes = (request: FastifyRequest): number =>
  request.headers['transfer-encoding'] === undefined
    ? Number(request.headers['content-length'] ?? 0)
    : request.routeOptions.bodyLimit;

export const hasLargeBody = (request: FastifyRequest): boolean => bodyBytes(request) > SMALL_BYTES;

/**
 * Limits the memory that all request bodies take together. A large body that exceeds the budget is refused before it is read;
 * its share is released when the response has been sent.
 */
const limitBodyMemory = (app: Hookable): void => {
  const authenticated = { freeBytes: AUTHENTICATED_BYTES };
  const anonymous = { freeBytes: ANONYMOUS_BYTES };
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const bytes = bodyBytes(request);
    // Fastify refuses a body over the limit of its route without reading it.
    if (bytes <= SMALL_BYTES || bytes > request.routeOptions.bodyLimit) return done();
    const budget = request.state.userId === undefined ? anonymous : authenticated;
    if (bytes > budget.freeBytes) return done(new Problem('overloaded', TOO_MANY_BODIES));
    budget.freeBytes -= bytes;
    reply.raw.once('close', () => {
      budget.freeBytes += bytes;
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
 * Frees each chunk of a refused body when it arrives. The body must be read, or the connection would be reset before the client
 * reads the response. Garbage collection alone lets 100 MB of chunks pile up.
 */
const discardRefusedBodies = (app: Hookable): void => {
  app.addHook('onError', ({ raw }, _reply, _error, done) => {
    if (!raw.readableDidRead) raw.on('data', freeBuffer);
    done();
  });
};

const freeBuffer = ({ buffer, byteLength }: Buffer<ArrayBuffer>): void => {
  // Small buffers are parts of a shared one.
  if (byteLength === buffer.byteLength) buffer.transfer(0);
};
