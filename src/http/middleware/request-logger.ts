import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify';

type ChildLoggerFactory = NonNullable<FastifyServerOptions['childLoggerFactory']>;
type LogArguments = Parameters<FastifyBaseLogger['info']>;

/** Creates the child logger of a request on first use: most requests log nothing, and creating it takes longer than routing. */
export const lazyChildLogger: ChildLoggerFactory = (logger, bindings, options) =>
  new LazyLogger(() => logger.child(bindings, options));

class LazyLogger implements FastifyBaseLogger {
  readonly #create: () => FastifyBaseLogger;
  #created: FastifyBaseLogger | undefined;

  constructor(create: () => FastifyBaseLogger) {
    this.#create = create;
  }

  get #logger(): FastifyBaseLogger {
    this.#created ??= this.#create();
    return this.#created;
  }

  get level() {
    return this.#logger.level;
  }

  child(...args: Parameters<FastifyBaseLogger['child']>) {
    return this.#logger.child(...args);
  }

  fatal(...args: LogArguments): void {
    this.#logger.fatal(...args);
  }

  error(...args: LogArguments): void {
    this.#logger.error(...args);
  }

  warn(...args: LogArguments): void {
    this.#logger.warn(...args);
  }

  info(...args: LogArguments): void {
    this.#logger.info(...args);
  }

  debug(...args: LogArguments): void {
    this.#logger.debug(...args);
  }

  trace(...args: LogArguments): void {
    this.#logger.trace(...args);
  }

  silent(...args: LogArguments): void {
    this.#logger.silent(...args);
  }
}
