import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import cookie from '@fastify/cookie';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  LogController,
} from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { nodeAddress } from '../lib/ip-networks.ts';
import { Problem } from '../lib/problems.ts';
import type { SigningKeys } from '../services/gate/signing-keys.ts';
import { sendProblemResponse } from './browsable/serve-browsable.ts';
import { createClientErrorHandler, type RequestQueues } from './connections.ts';
import { serveConsole } from './console/serve-console.ts';
import { serveGate } from './gate/serve-gate.ts';
import { limitBodies } from './middleware/body-limits.ts';
import { compressResponses } from './middleware/compression.ts';
import { createCors } from './middleware/cors.ts';
import { createCsrf } from './middleware/credentials.ts';
import { limitRequestsByCaller } from './middleware/rate-limit.ts';
import { type ContextDeps, isHttps, refuseCrossSiteSessions } from './middleware/request-context.ts';
import { logResponses } from './middleware/request-logger.ts';
import { addRequestState } from './middleware/request-state.ts';
import { serveOpenid } from './openid/serve-openid.ts';
import { failurePage, isBrowserOutsideApi, servePages } from './pages/serve-pages.ts';
import { serveReference } from './reference/serve-reference.ts';
import { mergeUnsupportedMethods } from './rest/methods.ts';
import { registerNegotiation } from './rest/negotiation.ts';
import { sendProblem } from './rest/problem-document.ts';
import { serveRest } from './rest/serve-rest.ts';
import { serveScim } from './scim/serve-scim.ts';
import { type ServicePathDeps, serveServicePaths } from './service-paths.ts';
import { serveTrpc } from './trpc/serve-trpc.ts';
import { isTrpcPath, sendTrpcError } from './trpc/trpc-protocol.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_PARAMETER_LENGTH = 1024;
const REQUEST_TIMEOUT_MS = 60_000;
/** Longer than proxies keep idle connections (60 s), so that the proxies close them first. */
const KEEP_ALIVE_MS = 72_000;
const YEAR_SECONDS = 365 * 24 * 3600;
const REQUEST_ID = /^[\w.:-]{1,128}$/;

type ServerDeps = Omit<ContextDeps & ServicePathDeps, 'csrf'> & {
  logger: FastifyBaseLogger;
  secretKey: string;
  signingKeys: SigningKeys;
  clock: Clock;
  /** The number or the addresses of the proxies that may forward the caller's address and host. */
  trustedProxies: number | string[];
  requests: RequestQueues;
  /** Origins whose scripts may read responses. */
  corsOrigins: readonly string[];
  /** Limit for one caller; 0: unlimited. */
  requestsPerMinute: number;
};

/** Creates the HTTP server with all routes. It does not listen yet. */
export const createServer = async (options: ServerDeps) => {
  const csrf = createCsrf({ secretKey: options.secretKey, secure: isHttps(options.baseUrl) });
  const deps = { ...options, csrf };
  const securityHeaders = securityHeadersOf(deps.baseUrl);
  const cors = createCors(deps.corsOrigins);
  const app = fastify({
    loggerInstance: deps.logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: ({ headers }) => wellFormedId(headers['x-request-id']) ?? randomUUID(),
    bodyLimit: MAX_BODY_BYTES,
    serverFactory: (handle) =>
      createHttpServer(
        { requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS },
        deps.requests.serialize(handle),
      ),
    trustProxy: trustedProxyOption(deps.trustedProxies),
    // During a shutdown, requests are still answered, and only idle connections are closed.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAMETER_LENGTH },
    clientErrorHandler: createClientErrorHandler(securityHeaders, deps.requests),
    // No route has a JSON schema: loading Fastify's compilers for them takes 30 ms.
    schemaController: { compilersFactory: { buildValidator: refuseSchemas, buildSerializer: refuseSchemas } },
    // Called before routing, which also depends on the method, and before anything reads the address of the caller.
    rewriteUrl: (request) => {
      mergeUnsupportedMethods(request);
      readForwardedNodes(request);
      return request.url ?? '';
    },
    frameworkErrors: (error, request, reply) => {
      reply.headers(securityHeaders).header('vary', 'Accept').header('x-request-id', request.id);
      cors.addTo(request, reply);
      if (isTrpcPath(request.url)) sendTrpcError(reply, error);
      else sendProblem(reply, error);
    },
  });
  const sendFailure = (reply: FastifyReply, error: unknown) =>
    isBrowserOutsideApi(reply.request) ? failurePage(reply, error, deps) : sendProblemResponse(reply, error);
  app.setErrorHandler((error, _request, reply) => sendFailure(reply, error));
  app.setNotFoundHandler((_request, reply) =>
    sendFailure(reply, new Problem('not-found', { detail: NO_SUCH_PATH })),
  );
  // onRequest, in this order, before the hooks of the route.
  addRequestState(app);
  setCommonHeaders(app, securityHeaders);
  await app.register(cookie);
  await registerNegotiation(app);
  await cors.register(app);
  if (deps.requestsPerMinute)
    await limitRequestsByCaller(app, { ...deps, perMinute: deps.requestsPerMinute });
  refuseCrossSiteSessions(app, deps.baseUrl);
  // preParsing, after the hooks of the route.
  limitBodies(app);
  // onSend and onResponse.
  await compressResponses(app);
  logResponses(app);

  serveServicePaths(app, deps);
  serveReference(app);
  await serveConsole(app, deps);
  serveGate(app, deps);
  await app.register((rest) => serveRest(rest, deps));
  await serveOpenid(app, deps);
  await serveScim(app, deps);
  await app.register((pages) => servePages(pages, deps));
  await app.register((rpc) => serveTrpc(rpc, deps));
  return app;
};

const refuseSchemas = (): never => {
  throw new Error('Routes have no JSON schemas: procedures check their input and output with zod.');
};

const NO_SUCH_PATH = 'No such path. REST paths begin with /api/v1/: see /docs/.';

/** The policy of responses with data, which load nothing and are never framed. Pages set their own policy. */
const securityHeadersOf = (baseUrl: string) => ({
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  // Prevents embedding by other sites. Does not apply to CORS requests.
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Without `includeSubDomains`: other hosts of the domain may not support https.
  ...(isHttps(baseUrl) && { 'strict-transport-security': `max-age=${YEAR_SECONDS}` }),
});

/** Fastify compares the entries of `X-Forwarded-For` as addresses. Some proxies add the port, which differs between connections. */
const readForwardedNodes = ({ headers }: IncomingMessage): void => {
  const nodes = headers['x-forwarded-for'];
  if (nodes === undefined) return;
  headers['x-forwarded-for'] = String(nodes).split(',').map(nodeAddress).join(', ');
};

/** Fastify numbers the addresses of `X-Forwarded-For` from the nearest proxy outwards. Entries that a caller invented come last. */
const trustedProxyOption = (trusted: number | string[]) =>
  typeof trusted === 'number' ? (_address: string, hop: number) => hop < trusted : trusted;

const wellFormedId = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && REQUEST_ID.test(header) ? header : undefined;

/** Runs before all hooks that may fail, so that failures have these headers too. Handlers may replace them. */
const setCommonHeaders = (
  app: Pick<FastifyInstance, 'addHook'>,
  securityHeaders: Record<string, string>,
): void => {
  app.addHook('onRequest', (request, reply, done) => {
    // Most responses depend on the caller and the time. Others set their own header.
    reply.headers(securityHeaders).header('x-request-id', request.id).header('cache-control', 'no-store');
    done();
  });
};
