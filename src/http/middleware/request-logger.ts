import type { FastifyBaseLogger, FastifyInstance, FastifyRequest, FastifyServerOptions } from 'fastify';
import { telemetry } from '../../lib/telemetry.ts';
import { logFieldsOf } from '../../lib/tracing.ts';

type ChildLoggerFactory = NonNullable<FastifyServerOptions['childLoggerFactory']>;

/** Creates the child logger of a request on first use: most requests log nothing, and creating it takes longer than routing. */
export const lazyChildLogger: ChildLoggerFactory = (logger, bindings, options) =>
  new LazyLogger(() => logger.child(bindings, options)) as LazyLogger & FastifyBaseLogger; // its methods are added below

const WITH_ACCESS_KEY = /^\/(?:v|api\/v1\/access_views|api\/v2\/accessviews)\/:key\//;
/** In paths without a route. */
const ACCESS_KEY = /[0-9a-f]{32}/gi;

/** The path without the query. Keys of access views open apps, so that the route is logged instead of them. */
const loggedPath = ({ url, routeOptions: { url: route } }: FastifyRequest): string =>
  route !== undefined && WITH_ACCESS_KEY.test(route)
    ? route
    : url.replace(/\?.*$/s, '').replaceAll(ACCESS_KEY, '…');

/** Logs one line per response, without the query, which contains the inputs of tRPC calls. */
export const logResponses = (app: Pick<FastifyInstance, 'addHook' | 'log'>): void => {
  // The line contains no secrets. Redaction would take a sixth of the memory of a request.
  const log = app.log.child({}, { redact: [] });
  app.addHook('onResponse', (request, reply, done) => {
    telemetry.response.publish(() => ({
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1000,
    }));
    log.info(
      {
        reqId: request.id,
        method: request.method,
        path: loggedPath(request),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        // This event of the socket has lost the async context of the request.
        ...logFieldsOf(request.state.span),
        // Email addresses and tokens must not be logged.
        ...(request.state.userId !== undefined && { user_id: request.state.userId }),
      },
      'request completed',
    );
    done();
  });
};

class LazyLogger {
  readonly #create: () => FastifyBaseLogger;
  #created: FastifyBaseLogger | undefined;

  constructor(create: () => FastifyBaseLogger) {
    this.#create = create;
  }

  get created(): FastifyBaseLogger {
    this.#created ??= this.#create();
    return this.#created;
  }

  get level() {
    return this.created.level;
  }
}

for (const name of ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent', 'child'] as const) {
  const value = function (this: LazyLogger, ...args: unknown[]): unknown {
    return Reflect.apply(this.created[name], this.created, args);
  };
  Object.defineProperty(LazyLogger.prototype, name, { value });
}
