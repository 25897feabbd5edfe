import helmet from '@fastify/helmet';
import fastify, { type FastifyInstance } from 'fastify';
import { isHttps } from './request-context.ts';

const YEAR_SECONDS = 365 * 24 * 3600;

export type SecurityHeaders = Readonly<Record<string, string>>;

/**
 * What every answer tells browsers, as helmet writes it. Asked once: its plugin makes all of it anew for each request,
 * which takes some 40 µs.
 */
export const createSecurityHeaders = async (baseUrl: string): Promise<SecurityHeaders> => {
  const probe = fastify();
  await probe.register(helmet, {
    // Data is no document: it loads nothing, and nothing shows it. Pages say what they need themselves.
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
    // Callers by CORS are not held to it: it is for what other sites would embed without asking.
    crossOriginResourcePolicy: { policy: 'same-origin' },
    // Other hosts of the domain are not ours to speak for.
    strictTransportSecurity: isHttps(baseUrl) && { maxAge: YEAR_SECONDS, includeSubDomains: false },
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  });
  probe.get('/', async (_request, reply) => reply.raw.getHeaders());
  const answer = await probe.inject('/');
  await probe.close();
  return answer.json();
};

/** Before everything else, so that refusals have them too; who answers may replace any. */
export const setSecurityHeaders = (app: Pick<FastifyInstance, 'addHook'>, headers: SecurityHeaders): void => {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
};
