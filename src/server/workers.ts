import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import type { Connection } from '../config/connection.ts';
import { shutDownGracefully } from '../lib/graceful-shutdown.ts';
import { createLogger, logUnhandledRejections } from '../lib/logger.ts';
import { sizePools } from './database-host.ts';

type SharedConfig = Omit<WorkerConfig, 'number'>;
type WorkerSlot = { worker: Worker; isListening: boolean };

/** Divides limits of the whole service among the workers. */
const configPerWorker = ({ config, connection, secretKey }: SharedConfig): SharedConfig => ({
  config: {
    ...config,
    argon2Concurrency: Math.ceil(config.argon2Concurrency / config.workers),
    mailPerMinute: Math.ceil(config.mailPerMinute / config.workers),
  },
  connection: { ...connection, poolSize: sizePools(config.workers).poolSize },
  secretKey,
});

/**
 * Runs `WORKERS` processes that share the port, and replaces those that exit. The first worker starts before the others: it migrates and
 * bootstraps the database; if it fails, the others would fail too. Resolves when the first worker listens, or when it has exited before
 * that; then `lost` has resolved too.
 */
export const startWorkers = async (shared: SharedConfig, printLine: (line: string) => void) => {
  const slots = new Map<number, WorkerSlot>();
  const restartTimers = new Map<number, NodeJS.Timeout>();
  const lost = Promise.withResolvers<string>();
  const hasListened = Promise.withResolvers<ListeningMessage['listening'] | null>();
  const allListen = Promise.withResolvers<void>();
  let isStopping = false;
  let hasStarted = false;

  const startWorker = (number: number): void => {
    if (isStopping) return;
    const worker = cluster.fork();
    const slot = { worker, isListening: false };
    slots.set(number, slot);
    worker.on('message', (message: ListeningMessage | object) => {
      // Other messages are prom-client's.
      if (!('listening' in message)) return;
      slot.isListening = true;
      hasStarted = true;
      hasListened.resolve(message.listening);
      const listening = [...slots.values()].filter(({ isListening }) => isListening);
      if (listening.length === shared.config.workers) allListen.resolve();
    });
    worker.once('exit', () => replace(number));
    // Sending to a worker that just exited fails; the `exit` event handles that.
    worker.on('error', () => {});
    worker.send({ config: { ...configPerWorker(shared), number } } satisfies ConfigMessage);
  };

  const replace = (number: number): void => {
    slots.delete(number);
    if (isStopping) return;
    if (!hasStarted) {
      lost.resolve('no worker can start');
      return;
    }
    printLine(`Worker ${number} exited: starting a replacement.`);
    restartTimers.set(
      number,
      setTimeout(() => startWorker(number), RESTART_MS),
    );
  };

  startWorker(1);
  const first = await Promise.race([hasListened.promise, lost.promise.then(() => null)]);
  if (first) {
    printLine(`Steward listens on ${shared.config.baseUrl}`);
    for (let number = 2; number <= shared.config.workers; number += 1) startWorker(number);
    // The other workers log that they listen.
    allListen.promise.then(() => first.notice.forEach(printLine));
  }
  return {
    /** Each worker has its own metrics. */
    metrics: null,
    /** Resolves with the reason when no worker can start. */
    lost: lost.promise,
    stop: async (): Promise<void> => {
      isStopping = true;
      for (const pause of restartTimers.values()) clearTimeout(pause);
      const slotList = [...slots.values()];
      for (const { worker, isListening } of slotList) if (!isListening) worker.process.kill('SIGKILL');
      const workers = slotList.map(({ worker }) => worker);
      const exited = Promise.all(workers.map(waitForExit));
      // Each step in all workers before the next one. Until all hold their requests, a worker that still listens gets the connections that
      // others no longer accept. When none listens, the primary resets waiting connections.
      const inAll = async (step: StopMessage['stop']): Promise<void> => {
        const done = Promise.all(workers.map((worker) => takeStep(worker, step)));
        await Promise.race([done, sleep(STEP_TIMEOUT_MS, undefined, { ref: false })]);
      };
      await shutDownGracefully({
        announce: () => inAll('announce'),
        hold: () => inAll('hold'),
        stopListening: () => inAll('stopListening'),
        close: async () => {
          for (const worker of workers) sendStop(worker, 'close');
          await exited;
        },
      });
    },
  };
};

const waitForExit = async (worker: Worker): Promise<void> => {
  const exited = new Promise((resolve) => worker.once('exit', resolve));
  if (!worker.isDead()) await exited;
};

/** How long the workers wait for a worker that hangs. */
const STEP_TIMEOUT_MS = 2_000;

const sendStop = (worker: Worker, stop: StopMessage['stop']): void => {
  if (worker.isConnected()) worker.send({ stop } satisfies StopMessage);
};

/** Resolves when the worker has done the step, or has exited. */
const takeStep = async (worker: Worker, step: StopMessage['stop']): Promise<void> => {
  const done = new Promise<void>((resolve) => {
    worker.on(
      'message',
      (message: DoneMessage | object) => 'done' in message && message.done === step && resolve(),
    );
  });
  sendStop(worker, step);
  await Promise.race([done, waitForExit(worker)]);
};

/** The pause before a worker that exited is replaced. */
const RESTART_MS = 1_000;

/** Sent to a worker over IPC: other processes can see arguments and environments. */
type WorkerConfig = {
  /** 1 to `WORKERS`; a replacement keeps the number. */
  number: number;
  config: Config;
  connection: Connection;
  secretKey: string;
};

type ConfigMessage = { config: WorkerConfig };
/** A step of `ShutdownSteps`. */
type StopMessage = { stop: 'announce' | 'hold' | 'stopListening' | 'close' };

/** Sent by a worker when it listens. The first worker's has lines to print for the operator. */
type ListeningMessage = { listening: { notice: string[] } };
/** Sent by a worker after each step except the last. */
type DoneMessage = { done: StopMessage['stop'] };

/** Runs the service in one of several processes until it gets a stop message or a signal. Exits if the primary dies. */
export const runWorker = async (signal: Promise<string>, settings: Config): Promise<void> => {
  // Messages wait for the first listener: this one and the next start to listen at the same time.
  const metrics = settings.metricsPort > 0 ? await import('./metrics.ts') : null;
  metrics?.answerScrapes();
  const received = {
    config: Promise.withResolvers<WorkerConfig>(),
    announce: Promise.withResolvers<void>(),
    hold: Promise.withResolvers<void>(),
    stopListening: Promise.withResolvers<void>(),
    close: Promise.withResolvers<void>(),
  };
  process.on('message', (message: ConfigMessage | StopMessage) => {
    if ('stop' in message) return received[message.stop].resolve();
    // Other messages are prom-client's.
    if (!('config' in message)) return;
    received.config.resolve(message.config);
    // From now on the service keeps the process alive, not the channel.
    process.channel?.unref();
  });
  // Loaded while the configuration arrives.
  const { startServer } = await import('./start-server.ts');
  const { number, config, connection, secretKey } = await received.config.promise;
  const { logLevel, logFormat: format } = config;
  const logger = createLogger(logLevel, { format, worker: number, hasTraces: config.tracing !== null });
  logUnhandledRejections(logger);

  const steps = await startServer({ config, host: { connection, secretKey }, logger });
  process.send?.({ listening: { notice: steps.notice } } satisfies ListeningMessage);
  for (const step of ['announce', 'hold', 'stopListening'] as const)
    received[step].promise.then(steps[step]).then(() => process.send?.({ done: step } satisfies DoneMessage));
  const closed = received.close.promise.then(steps.close);
  // A signal stops only this worker, or comes from a terminal, which sends it to all processes.
  await Promise.race([closed, signal.then(() => shutDownGracefully(steps))]);
};
