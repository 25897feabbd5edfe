import type { Config } from '../../config/config.ts';
import type { Connection } from '../../config/connection.ts';
import { shutDownGracefully } from '../../lib/graceful-shutdown.ts';
import { createLogger, logUnhandledRejections } from '../../lib/logger.ts';

/** Sent to a worker over IPC: arguments and environments are visible to other processes. */
export type WorkerConfig = {
  /** 1 to `WORKERS`; a replacement keeps the number. */
  number: number;
  config: Config;
  connection: Connection;
  secretKey: string;
};

export type ConfigMessage = { config: WorkerConfig };
/** A step of `ShutdownSteps`. */
export type StopMessage = { stop: 'announce' | 'hold' | 'close' };

/** Sent by a worker when it listens, with what the first one tells the operator. */
export type ListeningMessage = { listening: { notice: string[] } };

/** Runs the service in one of several processes until it gets a stop message or a signal. Exits if the primary dies. */
export const runWorker = async (signal: Promise<string>, settings: Config): Promise<void> => {
  // Messages wait for the first listener: this one and the next start to listen at the same time.
  const metrics = settings.metricsPort > 0 ? await import('../metrics.ts') : null;
  metrics?.answerScrapes();
  const received = {
    config: Promise.withResolvers<WorkerConfig>(),
    announce: Promise.withResolvers<void>(),
    hold: Promise.withResolvers<void>(),
    close: Promise.withResolvers<void>(),
  };
  process.on('message', (message: ConfigMessage | StopMessage) => {
    if ('stop' in message) return received[message.stop].resolve();
    // Others are of prom-client.
    if (!('config' in message)) return;
    received.config.resolve(message.config);
    // From now on the service keeps the process alive, not the channel.
    process.channel?.unref();
  });
  // Loaded while the configuration arrives.
  const { startServer } = await import('../start-server.ts');
  const { number, config, connection, secretKey } = await received.config.promise;
  const { logLevel, logFormat: format } = config;
  const logger = createLogger(logLevel, { format, worker: number, hasTraces: config.tracing !== null });
  logUnhandledRejections(logger);

  const steps = await startServer({ config, host: { connection, secretKey }, logger });
  process.send?.({ listening: { notice: steps.notice } } satisfies ListeningMessage);
  received.announce.promise.then(steps.announce);
  received.hold.promise.then(steps.hold);
  const closed = received.close.promise.then(steps.close);
  // A signal stops only this worker, or comes from a terminal, which sends it to all processes.
  await Promise.race([closed, signal.then(() => shutDownGracefully(steps))]);
};
