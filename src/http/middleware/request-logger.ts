import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify';

type MakeLogger = NonNullable<FastifyServerOptions['childLoggerFactory']>;
type Line = Parameters<FastifyBaseLogger['info']>;

/**
 * The logger of one request, which is made when it has something to say: most never do, and making it takes longer than
 * finding the route.
 */
export const lazyChildLogger: MakeLogger = (logger, bindings, options) =>
  // Fastify's type has more of pino than Fastify uses.
  new LazyLogger(() => logger.child(bindings, options)) as unknown as FastifyBaseLogger;

class LazyLogger {
  readonly #make: () => FastifyBaseLogger;
  #made: FastifyBaseLogger | undefined;

  constructor(make: () => FastifyBaseLogger) {
    this.#make = make;
  }

  get #logger(): FastifyBaseLogger {
    this.#made ??= this.#make();
    return this.#made;
  }

  get level() {
    return this.#logger.level;
  }

  child(...of: Parameters<FastifyBaseLogger['child']>) {
    return this.#logger.child(...of);
  }

  fatal(...line: Line): void {
    this.#logger.fatal(...line);
  }

  error(...line: Line): void {
    this.#logger.error(...line);
  }

  warn(...line: Line): void {
    this.#logger.warn(...line);
  }

  info(...line: Line): void {
    this.#logger.info(...line);
  }

  debug(...line: Line): void {
    this.#logger.debug(...line);
  }

  trace(...line: Line): void {
    this.#logger.trace(...line);
  }

  silent(...line: Line): void {
    this.#logger.silent(...line);
  }
}
