import cluster, { type Worker } from 'node:cluster';
import { takeStopSteps } from '../../lib/graceful-shutdown.ts';
import { connectionsOf } from './pool-sizing.ts';
import { createWorkerRestarts } from './restart-policy.ts';
import type { OrdersMessage, StopMessage, WorkerConfig } from './worker-messages.ts';
import { LISTENS } from './worker-messages.ts';

type Place = Omit<WorkerConfig, 'number'>;
type Post = { worker: Worker; isServing: boolean; beganAt: number };

/** What one worker of several gets of what the settings mean for all. */
const shareOf = ({ config, connection, secretKey }: Place): Place => ({
  config: { ...config, argon2Concurrency: Math.ceil(config.argon2Concurrency / config.workers) },
  connection: { ...connection, poolSize: connectionsOf(config.workers).poolSize },
  secretKey,
});

/**
 * Runs `WORKERS` processes that share the port, each as the only one would run, and replaces those that end. The first
 * comes before the others: it migrates and makes the first start, and where it cannot, the others could not either.
 * Resolves when it listens, or when it has ended before that; then `lost` has resolved too.
 */
export const startWorkers = async (place: Place, say: (line: string) => void) => {
  const posts = new Map<number, Post>();
  const pauses = new Map<number, NodeJS.Timeout>();
  const restarts = createWorkerRestarts();
  const lost = Promise.withResolvers<string>();
  const hasListened = Promise.withResolvers<boolean>();
  let isStopping = false;

  const begin = (number: number): void => {
    if (isStopping) return;
    const worker = cluster.fork();
    const post = { worker, isServing: false, beganAt: performance.now() };
    posts.set(number, post);
    worker.on('message', (message: unknown) => {
      if (message !== LISTENS) return;
      post.isServing = true;
      restarts.listened();
      hasListened.resolve(true);
    });
    worker.once('exit', () => replace(number, post));
    // Of sending to one that has just ended; its end is heard all the same.
    worker.on('error', () => {});
    worker.send({ orders: { ...shareOf(place), number } } satisfies OrdersMessage);
  };

  const replace = (number: number, { beganAt }: Post): void => {
    posts.delete(number);
    if (isStopping) return;
    const areOthersServing = [...posts.values()].some(({ isServing }) => isServing);
    const pauseMs = restarts.pauseAfter({ livedMs: performance.now() - beganAt, areOthersServing });
    if (pauseMs === null) {
      lost.resolve('no worker can start');
      return;
    }
    say(`Worker ${number} ended: another takes its place.`);
    pauses.set(
      number,
      setTimeout(() => begin(number), pauseMs),
    );
  };

  begin(1);
  if (await Promise.race([hasListened.promise, lost.promise.then(() => false)])) {
    say(`Steward listens on ${place.config.baseUrl}`);
    for (let number = 2; number <= place.config.workers; number += 1) begin(number);
  }
  return {
    /** Resolves with the reason when none can start any more. */
    lost: lost.promise,
    /** Tells all to finish what is under way, and waits until they have ended. */
    stop: async (): Promise<void> => {
      isStopping = true;
      for (const pause of pauses.values()) clearTimeout(pause);
      const workers = [...posts.values()].map(({ worker }) => worker);
      const ended = Promise.all(workers.map(untilEnded));
      const tell = (stop: StopMessage['stop']) => {
        for (const worker of workers) if (worker.isConnected()) worker.send({ stop } satisfies StopMessage);
      };
      // All at the same time: while one listens, it is handed the connections that others refuse.
      await takeStopSteps({
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
