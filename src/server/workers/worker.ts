import { shutDownGracefully } from '../../lib/graceful-shutdown.ts';
import { createLogger } from '../../lib/logger.ts';
import { logUnhandledRejections } from '../unhandled-rejections.ts';
import { type ConfigMessage, LISTENING, type StopMessage, type WorkerConfig } from './worker-messages.ts';

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
