import cluster from 'node:cluster';
import { fullDisk } from './adapters/embedded-postgres/index.ts';
import type { Config } from './config/config.ts';
import { hasDiskSpace } from './lib/files.ts';
import { shutDownGracefully } from './lib/graceful-shutdown.ts';
import { createLogger, createOperatorOutput, logUnhandledRejections } from './lib/logger.ts';
import { NEVER, openDatabaseHost } from './server/database-host.ts';
import { resolvePort } from './server/listen.ts';
import type { ServerDeps } from './server/start-server.ts';
import { runWorker, startWorkers } from './server/workers.ts';

/** Takes most of a start, so it runs while PostgreSQL starts. */
const loadServer = () => import('./server/start-server.ts');

/** The process exits if running requests take longer to finish. */
const STOP_TIMEOUT_MS = 10_000;
/** npm forwards a signal that the terminal or supervisor already sent to the whole process group. */
const DUPLICATE_SIGNAL_MS = 1_000;

/** Runs the service until a signal: settings → database → migrations → bootstrap → listen. */
export const serve = async (settings: Config): Promise<void> => {
  // First: process 1 of a container ignores signals without a handler.
  const signal = stopSignal();
  // Sent by logrotate, because programs with open files must reopen them. Without a handler, the signal would end the process.
  if (settings.sinks.file !== undefined) process.on('SIGHUP', () => {});
  if (cluster.isWorker) return runWorker(signal, settings);
  const { logLevel, logFormat: format } = settings;
  const logger = createLogger(logLevel, { format, hasTraces: settings.tracing !== null });
  const { printLine } = createOperatorOutput(logger, { format });
  logUnhandledRejections(logger);

  const isSingleProcess = settings.workers === 1;
  const host = await openDatabaseHost(settings, isSingleProcess ? { onLaunch: loadServer } : {});
  const closeSteps = [host.stop];
  try {
    const config = await resolvePort(settings);
    const { stop, lost, metrics } = await (isSingleProcess
      ? serveInProcess({ config, host, logger }, printLine)
      : startWorkers({ config, ...host }, printLine));
    closeSteps.push(stop);
    if (config.metricsPort > 0) {
      const { serveMetrics } = await import('./server/metrics.ts');
      closeSteps.push(await serveMetrics(config, metrics));
    }
    const failed = Promise.race([lost, host.lost.then(() => describeDatabaseLoss(settings))]);

    const reason = await Promise.race([signal, failed]);
    if (reason.startsWith('SIG')) printLine(`Stopping: ${reason}`);
    else {
      logger.fatal(`Stopping: ${reason}`);
      process.exitCode = 1;
    }
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
  } finally {
    for (const close of closeSteps.reverse()) await close();
  }
};

/** PostgreSQL exits when it cannot write its WAL. A supervisor restarts the service once there is space. */
const describeDatabaseLoss = async ({ dataDir }: Config): Promise<string> =>
  (await hasDiskSpace(dataDir))
    ? 'the embedded database exited'
    : `the embedded database exited: ${fullDisk(dataDir)}`;

const serveInProcess = async (deps: ServerDeps, printLine: (line: string) => void) => {
  const { startServer } = await loadServer();
  const { notice, ...steps } = await startServer(deps);
  for (const line of [`Steward listens on ${deps.config.baseUrl}`, ...notice]) printLine(line);
  return { stop: () => shutDownGracefully(steps), lost: NEVER, metrics: steps.metrics };
};

/**
 * Resolves with the first SIGTERM or SIGINT. A later one exits immediately, unless it is a duplicate of the first.
 */
export const stopSignal = (
  signals: NodeJS.EventEmitter = process,
  exit: (code: number) => void = process.exit,
  readMs = () => performance.now(),
): Promise<string> =>
  new Promise((resolve) => {
    let firstAt: number | undefined;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      signals.on(signal, () => {
        firstAt ??= readMs();
        if (readMs() - firstAt > DUPLICATE_SIGNAL_MS) exit(130);
        resolve(signal);
      });
    }
  });
