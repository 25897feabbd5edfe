import cors from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ANY_ORIGIN } from '../../lib/urls.ts';
import { HEADERS } from '../openapi/responses.ts';
import { API_METHODS } from '../rest/methods.ts';
import { addVary } from '../rest/negotiation.ts';

/** The longest time that browsers cache a preflight. */
const PREFLIGHT_SECONDS = 2 * 3600;

const REQUEST_HEADERS =
  `Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-Modified-Since, If-None-Match,
  If-Unmodified-Since, Prefer, X-CSRFToken, X-Request-Id, traceparent, tracestate, trpc-accept`.split(/,\s+/);

/** Response headers that scripts of other sites may read, beyond those that browsers always expose. */
const EXPOSED_HEADERS = 'Allow, Preference-Applied, WWW-Authenticate'
  .split(', ')
  .concat(Object.keys(HEADERS));

/**
 * Lets scripts of the given origins read responses. Cookies are not allowed: they are for the service's own pages; callers on other sites
 * send a token.
 */
export const createCors = (origins: readonly string[]) => {
  const isAny = origins.includes(ANY_ORIGIN);
  const allowedOrigins = new Set(origins);
  /** The value of `Access-Control-Allow-Origin`; false: the header is not set. */
  const allowedOrigin = (origin: string | undefined): string | false => {
    if (origin === undefined) return false;
    if (isAny) return ANY_ORIGIN;
    return allowedOrigins.has(origin) && origin;
  };

  return {
    register: async (app: FastifyInstance): Promise<void> => {
      if (origins.length === 0) return;
      await app.register(cors, {
        origin: (origin, done) => done(null, allowedOrigin(origin)),
        methods: API_METHODS,
        allowedHeaders: REQUEST_HEADERS,
        exposedHeaders: EXPOSED_HEADERS,
        maxAge: PREFLIGHT_SECONDS,
        // Continues with the OPTIONS route of the path, which sets `Allow`.
        preflightContinue: true,
        strictPreflight: false,
      });
    },

    /** For responses that are sent without running hooks. */
    addTo: (request: FastifyRequest, reply: FastifyReply): void => {
      if (origins.length === 0) return;
      const allowed = allowedOrigin(request.headers.origin);
      addVary(reply, 'Origin');
      if (allowed !== false) reply.header('access-control-allow-origin', allowed);
    },
  };
};
