import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import cookie from '@fastify/cookie';
import fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import { notFound } from '../lib/problems.ts';
import type { RequestLimits } from '../services/rate-limits/request-limits.ts';
import { serveApiIndex } from './api-index.ts';
import { serveAvatars } from './avatars.ts';
import { API_INDEX } from './browsable/api-paths.ts';
import { sendProblemResponse } from './browsable/serve-browsable.ts';
import { type Readiness, serveHealth } from './health.ts';
import { limitBodyMemory } from './middleware/body-budget.ts';
import { createClientErrors } from './middleware/client-errors.ts';
import { compressResponses, refuseCompressedBodies } from './middleware/compression.ts';
import { createCors } from './middleware/cors.ts';
import { type Csrf, createCsrf } from './middleware/csrf.ts';
import { requireHostHeader } from './middleware/host-header.ts';
import { limitRequestRate } from './middleware/rate-limit.ts';
import { type ContextDeps, isHttps, refuseCrossSiteSessions } from './middleware/request-context.ts';
import { lazyChildLogger } from './middleware/request-logger.ts';
import type { RequestQueues } from './middleware/request-queues.ts';
import { addRequestState } from './middleware/request-state.ts';
import { createSecurityHeaders, setSecurityHeaders } from './middleware/security-headers.ts';
import { OPENAPI_PATH, serveOpenApi } from './openapi/serve-openapi.ts';
import { failurePage, notFoundPage, prefersPage } from './pages/error-pages.ts';
import { servePages } from './pages/serve-pages.ts';
import { serveReference } from './reference/serve-reference.ts';
import { addAllHttpMethods, refuseOtherMethods } from './rest/methods.ts';
import { registerNegotiation } from './rest/negotiation.ts';
import { sendProblem } from './rest/problem-document.ts';
import { serveRest } from './rest/serve-rest.ts';
import { serveTrpc } from './trpc/serve-trpc.ts';
import { isTrpcPath, sendTrpcError } from './trpc/trpc-protocol.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_PARAMETER_LENGTH = 1024;
const REQUEST_TIMEOUT_MS = 60_000;
/** Longer than proxies keep idle connections (60 s), so that they close them first. */
const KEEP_ALIVE_MS = 72_000;
const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** Paths that are not procedures. */
const READ_ONLY_PATHS = [
  '/healthz',
  '/readyz',
  '/avatars/:file',
  '/favicon.ico',
  API_INDEX,
  '/api/v1/csrf/',
  OPENAPI_PATH,
];

export type ServerDeps = Omit<ContextDeps, 'csrf'> & {
  logger: FastifyBaseLogger;
  secretKey: string;
  /** Steward's own version. */
  version: string;
  /** The number or the addresses of proxies that are trusted to forward the caller's address and host. */
  trustedProxies: number | string[];
  isReady: Readiness;
  requests: RequestQueues;
  requestDeadlineMs: number;
  /** Origins whose scripts may read responses. */
  corsOrigins: readonly string[];
  /** Null: unlimited. */
  requestLimits: RequestLimits | null;
};

/** Creates the HTTP server with all routes. It does not listen yet. */
export const createServer = async (deps: ServerDeps) => {
  const securityHeaders = await createSecurityHeaders(deps.baseUrl);
  const clientErrors = createClientErrors(securityHeaders);
  const cors = createCors(deps.corsOrigins);
  const csrf = createCsrf({ secretKey: deps.secretKey, secure: isHttps(deps.baseUrl) });
  const app = fastify({
    loggerInstance: deps.logger,
    childLoggerFactory: lazyChildLogger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: ({ headers }) => wellFormedId(headers['x-request-id']) ?? randomUUID(),
    bodyLimit: MAX_BODY_BYTES,
    serverFactory: (handle) =>
      createHttpServer(
        {
          requestTimeout: REQUEST_TIMEOUT_MS,
          keepAliveTimeout: KEEP_ALIVE_MS,
          // The hook `requireHostHeader` checks it and fails with a problem.
          requireHostHeader: false,
        },
        deps.requests.serialize(handle),
      ),
    trustProxy: trustedProxyOption(deps.trustedProxies),
    // During a shutdown, requests are still answered, and only idle connections are closed.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAMETER_LENGTH },
    clientErrorHandler: clientErrors.handle,
    frameworkErrors: (error, request, reply) => {
      reply.headers(securityHeaders).header('vary', 'Accept').header('x-request-id', request.id);
      cors.addTo(request, reply);
      if (isTrpcPath(request.url)) sendTrpcError(request, reply, error);
      else sendProblem(request, reply, error);
    },
  });
  clientErrors.trackResponses(app.server);
  addAllHttpMethods(app);
  app.setErrorHandler((error, request, reply) =>
    prefersPage(request)
      ? failurePage(request, reply, error, { ...deps, csrf })
      : sendProblemResponse(request, reply, error),
  );
  app.setNotFoundHandler((request, reply) =>
    prefersPage(request)
      ? notFoundPage(request, reply, { ...deps, csrf })
      : sendProblemResponse(request, reply, notFound('path')),
  );
  addRequestState(app, deps.requestDeadlineMs);
  setSecurityHeaders(app, securityHeaders);
  await app.register(cookie);
  await registerNegotiation(app);
  await cors.register(app);
  setRequestId(app);
  requireHostHeader(app);
  disableCaching(app);
  if (deps.requestLimits) limitRequestRate(app, { ...deps, limits: deps.requestLimits });
  refuseCrossSiteSessions(app, deps.baseUrl);
  logResponses(app);
  refuseCompressedBodies(app);
  limitBodyMemory(app);
  await compressResponses(app);

  serveHealth(app, deps.isReady);
  serveAvatars(app);
  serveApiIndex(app, deps.baseUrl);
  serveReference(app);
  serveCsrf(app, csrf);
  serveOpenApi(app, deps.version);
  refuseOtherMethods(app, new Map(READ_ONLY_PATHS.map((url) => [url, ['GET', 'HEAD']])));
  await app.register((rest) => serveRest(rest, { ...deps, csrf }));
  await app.register((pages) => servePages(pages, { ...deps, csrf }));
  await app.register((rpc) => serveTrpc(rpc, { ...deps, csrf }));
  return app;
};

export type Server = Awaited<ReturnType<typeof createServer>>;
type Hookable = Pick<Server, 'addHook' | 'get' | 'log'>;

/** Hops are counted from the service outwards: entries that a caller adds to `X-Forwarded-For` are beyond the last proxy. */
const trustedProxyOption = (trusted: number | string[]) =>
  typeof trusted === 'number' ? (_address: string, hop: number) => hop < trusted : trusted;

const wellFormedId = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && REQUEST_ID.test(header) ? header : undefined;

const setRequestId = (app: Hookable): void => {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
};

/** Responses of the API depend on the caller and the time. Avatars and pages set their own header. */
const disableCaching = (app: Hookable): void => {
  app.addHook('onRequest', (request, reply, done) => {
    if (/^\/(api|trpc)\//.test(request.url)) reply.header('cache-control', 'no-store');
    done();
  });
};

/** Logs one line per response, without the query, which contains the inputs of tRPC calls. */
const logResponses = (app: Hookable): void => {
  // The line contains no secrets. Redaction would take a sixth of the memory of a request.
  const log = app.log.child({}, { redact: [] });
  app.addHook('onResponse', (request, reply, done) => {
    log.info(
      {
        reqId: request.id,
        method: request.method,
        path: request.url.replace(/\?.*$/s, ''),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        // Email addresses and tokens must not be logged.
        ...(request.state.userId !== undefined && { user_id: request.state.userId }),
      },
      'request completed',
    );
    done();
  });
};

const serveCsrf = (app: Hookable, csrf: Csrf): void => {
  app.get('/api/v1/csrf/', async (request, reply) => ({ csrf_token: csrf.issue(request, reply) }));
};
