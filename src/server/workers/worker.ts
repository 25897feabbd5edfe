import { shutDownGracefully } from '../../lib/graceful-shutdown.ts';
import { createLogger } from '../../lib/logger.ts';
import { logUnhandledRejections } from '../unhandled-rejections.ts';
import { type ConfigMessage, LISTENING, type StopMessage, type WorkerConfig } from './worker-messages.ts';

/** Serves as one of several processes, until it is told to stop; should the first process die, this one ends at once. */
export const runWorker = async (signal: Promise<string>): Promise<void> => {
  const { orders, announced, held, closed } = listenToFirst();
  // Loading takes longer than to be told.
  const { startServer: startServing } = await import('../start-server.ts');
  const { number, config, connection, secretKey } = await orders;
  const logger = createLogger(config.logLevel, undefined, number);
  logUnhandledRejections(logger);

  const steps = await startServing({ config, place: { connection, secretKey }, logger });
  process.send?.(LISTENING);
  announced.then(steps.announce);
  held.then(steps.hold);
  // A signal stops this worker alone, or comes from a terminal, which sends it to all processes.
  await Promise.race([closed.then(steps.close), signal.then(() => shutDownGracefully(steps))]);
};

const listenToFirst = () => {
  const orders = Promise.withResolvers<WorkerConfig>();
  const told = {
    announce: Promise.withResolvers<void>(),
    hold: Promise.withResolvers<void>(),
    close: Promise.withResolvers<void>(),
  };
  process.on('message', (message: ConfigMessage | StopMessage) => {
    if ('stop' in message) return told[message.stop].resolve();
    orders.resolve(message.orders);
    // From here on it is the work that keeps the process, which ends when that has ended or failed.
    process.channel?.unref();
  });
  return {
    orders: orders.promise,
    announced: told.announce.promise,
    held: told.hold.promise,
    closed: told.close.promise,
  };
};
