import cors from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ANY_ORIGIN } from '../../lib/origins.ts';
import { addVary } from '../rest/negotiation.ts';

/** Longer than this no browser keeps the answer to a preflight. */
const PREFLIGHT_SECONDS = 2 * 3600;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

const REQUEST_HEADERS = [
  'Accept',
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-Modified-Since',
  'If-None-Match',
  'If-Unmodified-Since',
  'Prefer',
  'X-CSRFToken',
  'X-Request-Id',
  'trpc-accept',
];

/** What scripts of other sites may read, beyond the few that browsers show anyway. */
const EXPOSED_HEADERS = [
  'Allow',
  'Content-Disposition',
  'Deprecation',
  'ETag',
  'Idempotency-Replayed',
  'Link',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Count',
  'X-Next',
  'X-Page',
  'X-PageSize',
  'X-Previous',
  'X-Request-Id',
];

export type Cors = ReturnType<typeof createCors>;

/**
 * Lets scripts of the origins named read what is answered here. Without credentials: cookies are for pages of this very
 * site, and callers from elsewhere send a token.
 */
export const createCors = (origins: readonly string[]) => {
  const isAny = origins.includes(ANY_ORIGIN);
  const allowed = new Set(origins);
  /** What `Access-Control-Allow-Origin` says to whoever asks; false: nothing at all. */
  const answerTo = (origin: string | undefined): string | false => {
    if (origin === undefined) return false;
    if (isAny) return ANY_ORIGIN;
    return allowed.has(origin) && origin;
  };

  return {
    register: async (app: FastifyInstance): Promise<void> => {
      if (origins.length === 0) return;
      await app.register(cors, {
        origin: (origin, done) => done(null, answerTo(origin)),
        methods: METHODS,
        allowedHeaders: REQUEST_HEADERS,
        exposedHeaders: EXPOSED_HEADERS,
        maxAge: PREFLIGHT_SECONDS,
        // The path's own OPTIONS goes on to answer, so that `Allow` is there for those who ask without a browser.
        preflightContinue: true,
        strictPreflight: false,
      });
    },

    /** For what is answered before any hook. */
    addTo: (request: FastifyRequest, reply: FastifyReply): void => {
      if (origins.length === 0) return;
      const answer = answerTo(request.headers.origin);
      addVary(reply, 'Origin');
      if (answer !== false) reply.header('access-control-allow-origin', answer);
    },
  };
};
