import { Transform } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { networkOf } from '../../lib/ip-networks.ts';
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
/** The share of a budget that one user or one network may use. */
const SHARE = 0.5;

const isChunked = ({ headers }: FastifyRequest): boolean => headers['transfer-encoding'] !== undefined;

const declaredBytes = ({ headers }: FastifyRequest): number => Number(headers['content-length'] ?? 0);

/** Whether the body is, or may become, large enough to be counted. */
export const hasLargeBody = (request: FastifyRequest): boolean =>
  isChunked(request) || declaredBytes(request) > SMALL_BYTES;

/**
 * Limits the memory of all request bodies together, and of the bodies of each caller. A body of known length is refused before it is read;
 * a chunked one is counted as it arrives. The memory is released when the response has been sent.
 */
const limitBodyMemory = (app: Hookable): void => {
  const authenticated = createBudget(AUTHENTICATED_BYTES);
  const anonymous = createBudget(ANONYMOUS_BYTES);
  app.addHook('preParsing', (request, reply, payload, done) => {
    const bytes = declaredBytes(request);
    // Fastify refuses a body over the limit of its route without reading it.
    if (!hasLargeBody(request) || bytes > request.routeOptions.bodyLimit) return done();
    // The connection was lost during the authentication, so nothing would release the memory.
    if (request.raw.socket.destroyed) return done();
    const { userId } = request.state;
    const budget = userId === undefined ? anonymous : authenticated;
    const caller = userId === undefined ? networkOf(request.ip) : String(userId);
    let taken = 0;
    const take = (bytes: number): Problem | null => {
      if (!budget.take(caller, bytes)) return new Problem('overloaded', TOO_MANY_BODIES);
      taken += bytes;
      return null;
    };
    const meter = isChunked(request) ? createMeter(take) : null;
    reply.raw.once('close', () => {
      budget.release(caller, taken);
      // A lost connection does not end the meter.
      meter?.destroy();
    });
    if (meter) return done(null, payload.pipe(meter));
    const refusal = take(bytes);
    if (refusal) done(refusal);
    else done();
  });
};

const createBudget = (totalBytes: number) => {
  const takenBy = new Map<string, number>();
  let freeBytes = totalBytes;
  return {
    /** Whether there is room. */
    take: (caller: string, bytes: number): boolean => {
      const taken = (takenBy.get(caller) ?? 0) + bytes;
      if (bytes > freeBytes || taken > totalBytes * SHARE) return false;
      freeBytes -= bytes;
      takenBy.set(caller, taken);
      return true;
    },
    release: (caller: string, bytes: number): void => {
      freeBytes += bytes;
      const left = (takenBy.get(caller) ?? 0) - bytes;
      if (left > 0) takenBy.set(caller, left);
      else takenBy.delete(caller);
    },
  };
};

/** Passes chunks on as long as there is room. */
const createMeter = (take: (bytes: number) => Problem | null): Transform =>
  new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      const refusal = take(chunk.length);
      if (refusal) done(refusal);
      else done(null, chunk);
    },
  });

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
