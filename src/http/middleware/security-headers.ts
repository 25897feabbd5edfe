import helmet from '@fastify/helmet';
import fastify, { type FastifyInstance } from 'fastify';
import { isHttps } from './request-context.ts';

const YEAR_SECONDS = 365 * 24 * 3600;

export type SecurityHeaders = Readonly<Record<string, string>>;

/** The security headers that helmet sets, read once: its plugin would build them for each request, which takes about 40 µs. */
export const createSecurityHeaders = async (baseUrl: string): Promise<SecurityHeaders> => {
  const probe = fastify();
  await probe.register(helmet, {
    // For data, which loads nothing and is never framed. Pages set their own policy.
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
    // Does not apply to CORS requests, only to embedding by other sites.
    crossOriginResourcePolicy: { policy: 'same-origin' },
    // Other hosts of the domain may not support https.
    strictTransportSecurity: isHttps(baseUrl) && { maxAge: YEAR_SECONDS, includeSubDomains: false },
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  });
  probe.get('/', async (_request, reply) => reply.raw.getHeaders());
  const response = await probe.inject('/');
  await probe.close();
  return response.json();
};

/** Runs before all other hooks, so that failures have the headers too. Handlers may replace them. */
export const setSecurityHeaders = (app: Pick<FastifyInstance, 'addHook'>, headers: SecurityHeaders): void => {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
};
