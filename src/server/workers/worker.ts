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

/** Sent by a worker when it listens. */
export const LISTENING = 'listening';

/** Runs the service in one of several processes until it gets a stop message or a signal. Exits if the primary dies. */
export const runWorker = async (signal: Promise<string>): Promise<void> => {
  const messages = receiveMessages();
  // Loaded while the configuration arrives.
  const { startServer } = await import('../start-server.ts');
  const { number, config, connection, secretKey } = await messages.config;
  const logger = createLogger(config.logLevel, undefined, number);
  logUnhandledRejections(logger);

  const steps = await startServer({ config, host: { connection, secretKey }, logger });
  process.send?.(LISTENING);
  messages.announce.then(steps.announce);
  messages.hold.then(steps.hold);
  // A signal stops only this worker, or comes from a terminal, which sends it to all processes.
  await Promise.race([messages.close.then(steps.close), signal.then(() => shutDownGracefully(steps))]);
};

const receiveMessages = () => {
  const workerConfig = Promise.withResolvers<WorkerConfig>();
  const steps = {
    announce: Promise.withResolvers<void>(),
    hold: Promise.withResolvers<void>(),
    close: Promise.withResolvers<void>(),
  };
  process.on('message', (message: ConfigMessage | StopMessage) => {
    if ('stop' in message) return steps[message.stop].resolve();
    workerConfig.resolve(message.config);
    // From now on the service keeps the process alive, not the channel.
    process.channel?.unref();
  });
  return {
    config: workerConfig.promise,
    announce: steps.announce.promise,
    hold: steps.hold.promise,
    close: steps.close.promise,
  };
};
