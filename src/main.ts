import cluster from 'node:cluster';
import type { Config } from './config/config.ts';
import { createOperatorOutput } from './lib/console-output.ts';
import { hasDiskSpace } from './lib/disk-space.ts';
import { shutDownGracefully } from './lib/graceful-shutdown.ts';
import { createLogger, type Logger } from './lib/logger.ts';
import { type DatabaseHost, openDatabaseHost } from './server/database-host.ts';
import { resolvePort } from './server/listen.ts';
import { logUnhandledRejections } from './server/unhandled-rejections.ts';
import { runWorker } from './server/workers/worker.ts';
import { startWorkers } from './server/workers/workers.ts';

/** `lost` resolves with the reason when it can serve no more. */
type Serving = { stop: () => Promise<void>; lost: Promise<string> };

const NEVER = new Promise<never>(() => {});

/** Most of a start is loading this, so it is begun while PostgreSQL, a process of its own, starts. */
const loadServing = () => import('./server/start-server.ts');

/** How long running requests get to finish; past it the process ends all the same. */
const STOP_TIMEOUT_MS = 10_000;
const ECHO_MS = 1_000;

/** Runs the service until it is told to stop: settings → database → migrations → first start → listen. */
export const serve = async (settings: Config): Promise<void> => {
  // From the beginning: a container's first process would not hear a signal that it has no handler for.
  const signal = stopSignal();
  if (cluster.isWorker) return runWorker(signal);
  const logger = createLogger(settings.logLevel);
  const { printLine } = createOperatorOutput(logger);
  logUnhandledRejections(logger);

  const isAlone = settings.workers === 1;
  const place = await openDatabaseHost(settings, isAlone ? { onLaunch: loadServing } : {});
  const closing = [place.stop];
  try {
    const config = await resolvePort(settings);
    const { stop, lost } = await (isAlone
      ? serveAlone({ config, place, logger })
      : startWorkers({ config, ...place }, printLine));
    closing.push(stop);
    const ended = Promise.race([lost, place.lost.then(() => reasonOfLoss(settings))]);

    const reason = await Promise.race([signal, ended]);
    if (reason.startsWith('SIG')) printLine(`Stopping: ${reason}`);
    else {
      logger.fatal(`Stopping: ${reason}`);
      process.exitCode = 1;
    }
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
  } finally {
    for (const close of closing.reverse()) await close();
  }
};

/** PostgreSQL ends when it cannot write its log. It may start again once there is room: that is for a supervisor to do. */
const reasonOfLoss = async ({ dataDir }: Config): Promise<string> =>
  (await hasDiskSpace(dataDir))
    ? 'the embedded database ended'
    : `the embedded database ended: DATA_DIR ${dataDir} has no disk space left. Free some, and start the service again.`;

const serveAlone = async (deps: {
  config: Config;
  place: DatabaseHost;
  logger: Logger;
}): Promise<Serving> => {
  const { startServer: startServing } = await loadServing();
  const steps = await startServing(deps);
  createOperatorOutput(deps.logger).printLine(`Steward listens on ${deps.config.baseUrl}`);
  return { stop: () => shutDownGracefully(steps), lost: NEVER };
};

/**
 * The first SIGTERM or SIGINT. One that comes later does not wait; one that comes at once is the same again: npm
 * hands on what the terminal or a supervisor has sent to the whole group already.
 */
const stopSignal = (): Promise<string> =>
  new Promise((resolve) => {
    let firstAt: number | undefined;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        firstAt ??= Date.now();
        if (Date.now() - firstAt > ECHO_MS) process.exit(130);
        resolve(signal);
      });
    }
  });
