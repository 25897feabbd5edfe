import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import { readSession } from '../middleware/credentials.ts';
import { isHttps } from '../middleware/request-context.ts';
import { loginPath, redirectTo } from '../pages/page-layout.ts';
import { refuseOtherMethods } from '../rest/methods.ts';

/** The output of `npm run build:console`, which `npm install` of a checkout runs. */
const BUILT = fileURLToPath(new URL('../../../console/dist/', import.meta.url));
const NOT_BUILT = 'The console is not built. Run `npm run build:console`, and restart the service.';

const YEAR_MS = 365 * 24 * 3600 * 1000;

/** Mantine sets inline styles; scripts come from files only. Avatars may be on other sites. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: https:",
  "connect-src 'self'",
  "font-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/**
 * `/console/`: the web console, for browsers with a session. Every path is a screen, which the browser finds by the address, except the
 * paths of assets: their names contain a hash of their content, and a missing one gets a 404.
 */
export const serveConsole = async (app: FastifyInstance, { baseUrl }: { baseUrl: string }): Promise<void> => {
  await app.register(fastifyStatic, {
    root: BUILT,
    serve: false,
    preCompressed: true,
    cacheControl: false,
    suppressWarning: true,
  });
  const isBuilt = existsSync(BUILT);
  const sendScreen = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (!isBuilt) throw new Problem('not-found', { detail: NOT_BUILT });
    const hasSession = readSession(request, isHttps(baseUrl)) !== null;
    return hasSession ? sendDocument(reply) : redirectTo(reply, loginPath(request.url));
  };
  app.get('/console', sendScreen);
  app.get('/console/*', sendScreen);
  app.get<{ Params: { '*': string } }>('/console/assets/*', (request, reply) =>
    reply.sendFile(`assets/${request.params['*']}`, { cacheControl: true, immutable: true, maxAge: YEAR_MS }),
  );
  refuseOtherMethods(app, ['/console', '/console/*', '/console/assets/*']);
};

const sendDocument = (reply: FastifyReply): FastifyReply =>
  reply
    .header('cache-control', 'no-cache')
    .header('content-security-policy', POLICY)
    .header('referrer-policy', 'same-origin')
    .sendFile('index.html');
