import { createLogger } from './core/logger.ts';
import { logUnhandled } from './process-faults.ts';
import { LISTENS, type Orders, type OrdersMessage, type StopMessage } from './worker-orders.ts';

/** Serves as one of several processes, until it is told to stop; should the first process die, this one ends at once. */
export const serveAsWorker = async (signal: Promise<string>): Promise<void> => {
  const { orders, stopped } = listenToFirst();
  // Loading takes longer than to be told.
  const { startServing } = await import('./serving.ts');
  const { number, config, connection, secretKey } = await orders;
  const logger = createLogger(config.logLevel, undefined, number);
  logUnhandled(logger);

  const stop = await startServing({ config, place: { connection, secretKey }, logger });
  process.send?.(LISTENS);
  await Promise.race([signal, stopped]);
  await stop();
};

const listenToFirst = () => {
  const orders = Promise.withResolvers<Orders>();
  const stopped = Promise.withResolvers<void>();
  process.on('message', (message: OrdersMessage | StopMessage) => {
    if ('stop' in message) return stopped.resolve();
    orders.resolve(message.orders);
    // From here on it is the work that keeps the process, which ends when that has ended or failed.
    process.channel?.unref();
  });
  return { orders: orders.promise, stopped: stopped.promise };
};
