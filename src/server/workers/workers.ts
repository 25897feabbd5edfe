import cluster, { type Worker } from 'node:cluster';
import { shutDownGracefully } from '../../lib/graceful-shutdown.ts';
import { sizePools } from './pool-sizing.ts';
import { createRestartPolicy } from './restart-policy.ts';
import type { ConfigMessage, StopMessage, WorkerConfig } from './worker-messages.ts';
import { LISTENING } from './worker-messages.ts';

type Place = Omit<WorkerConfig, 'number'>;
type WorkerSlot = { worker: Worker; isListening: boolean; startedAt: number };

/** What one worker of several gets of what the settings mean for all. */
const shareOf = ({ config, connection, secretKey }: Place): Place => ({
  config: { ...config, argon2Concurrency: Math.ceil(config.argon2Concurrency / config.workers) },
  connection: { ...connection, poolSize: sizePools(config.workers).poolSize },
  secretKey,
});

/**
 * Runs `WORKERS` processes that share the port, each as the only one would run, and replaces those that end. The first
 * comes before the others: it migrates and makes the first start, and where it cannot, the others could not either.
 * Resolves when it listens, or when it has ended before that; then `lost` has resolved too.
 */
export const startWorkers = async (place: Place, printLine: (line: string) => void) => {
  const slots = new Map<number, WorkerSlot>();
  const restartTimers = new Map<number, NodeJS.Timeout>();
  const restartPolicy = createRestartPolicy();
  const lost = Promise.withResolvers<string>();
  const hasListened = Promise.withResolvers<boolean>();
  let isStopping = false;

  const startWorker = (number: number): void => {
    if (isStopping) return;
    const worker = cluster.fork();
    const slot = { worker, isListening: false, startedAt: performance.now() };
    slots.set(number, slot);
    worker.on('message', (message: unknown) => {
      if (message !== LISTENING) return;
      slot.isListening = true;
      restartPolicy.listened();
      hasListened.resolve(true);
    });
    worker.once('exit', () => replace(number, slot));
    // Of sending to one that has just ended; its end is heard all the same.
    worker.on('error', () => {});
    worker.send({ orders: { ...shareOf(place), number } } satisfies ConfigMessage);
  };

  const replace = (number: number, { startedAt }: WorkerSlot): void => {
    slots.delete(number);
    if (isStopping) return;
    const areOthersListening = [...slots.values()].some(({ isListening }) => isListening);
    const pauseMs = restartPolicy.pauseAfter({ livedMs: performance.now() - startedAt, areOthersListening });
    if (pauseMs === null) {
      lost.resolve('no worker can start');
      return;
    }
    printLine(`Worker ${number} ended: another takes its place.`);
    restartTimers.set(
      number,
      setTimeout(() => startWorker(number), pauseMs),
    );
  };

  startWorker(1);
  if (await Promise.race([hasListened.promise, lost.promise.then(() => false)])) {
    printLine(`Steward listens on ${place.config.baseUrl}`);
    for (let number = 2; number <= place.config.workers; number += 1) startWorker(number);
  }
  return {
    /** Resolves with the reason when none can start any more. */
    lost: lost.promise,
    /** Tells all to finish what is under way, and waits until they have ended. */
    stop: async (): Promise<void> => {
      isStopping = true;
      for (const pause of restartTimers.values()) clearTimeout(pause);
      const workers = [...slots.values()].map(({ worker }) => worker);
      const ended = Promise.all(workers.map(untilEnded));
      const tell = (stop: StopMessage['stop']) => {
        for (const worker of workers) if (worker.isConnected()) worker.send({ stop } satisfies StopMessage);
      };
      // All at the same time: while one listens, it is handed the connections that others refuse.
      await shutDownGracefully({
        announce: () => tell('announce'),
        hold: () => tell('hold'),
        close: async () => {
          tell('close');
          await ended;
        },
      });
    },
  };
};

const untilEnded = async (worker: Worker): Promise<void> => {
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  if (!worker.isDead()) await ended;
};
