import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';

/** Smaller bodies are not counted: logins go on while large uploads fill the budget. */
const SMALL_BYTES = 64 * 1024;
/** A body is held as bytes, as text and as objects, so that this costs several times as much memory. */
const AUTHENTICATED_BYTES = 32 * 1024 * 1024;
/** Separate, so that anonymous uploads never keep out those of known callers. */
const ANONYMOUS_BYTES = 8 * 1024 * 1024;

/** The most that the body may have, as far as the headers tell; 0 when there is none. */
const bodyBytes = (request: FastifyRequest): number =>
  request.headers['transfer-encoding'] === undefined
    ? Number(request.headers['content-length'] ?? 0)
    : request.routeOptions.bodyLimit;

export const hasLargeBody = (request: FastifyRequest): boolean => bodyBytes(request) > SMALL_BYTES;

/**
 * Bounds the memory that request bodies take at a time. A large body is refused before it is read when there is no room for
 * it; its room is free again when the response has been sent.
 */
export const limitBodyMemory = (app: Pick<FastifyInstance, 'addHook'>): void => {
  const authenticated = { freeBytes: AUTHENTICATED_BYTES };
  const anonymous = { freeBytes: ANONYMOUS_BYTES };
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const bytes = bodyBytes(request);
    // One over the limit of its path is refused as such, without being read.
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
