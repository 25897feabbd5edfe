import type { FastifyInstance } from 'fastify';
import { isHttps } from './request-context.ts';

const YEAR_SECONDS = 365 * 24 * 3600;

export type SecurityHeaders = Readonly<Record<string, string>>;

/** For data, which loads nothing and is never framed. Pages set their own policy. */
export const securityHeadersOf = (baseUrl: string): SecurityHeaders => ({
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  // Does not apply to CORS requests, only to embedding by other sites.
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Without `includeSubDomains`: other hosts of the domain may not support https.
  ...(isHttps(baseUrl) && { 'strict-transport-security': `max-age=${YEAR_SECONDS}` }),
});

/** Runs before all other hooks, so that failures have the headers too. Handlers may replace them. */
export const setSecurityHeaders = (app: Pick<FastifyInstance, 'addHook'>, headers: SecurityHeaders): void => {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
};
