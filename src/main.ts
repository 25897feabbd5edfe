import type { Config } from './core/config.ts';
import { createLogger } from './core/logger.ts';
import { withFreeAddress } from './listening.ts';
import { say } from './saying.ts';
import { openWorkplace } from './workplace.ts';

/** Most of a start is loading this, so it is begun while PostgreSQL, a process of its own, starts. */
const loadServing = () => import('./serving.ts');

/** How long running requests get to finish; past it the process ends all the same. */
const STOP_TIMEOUT_MS = 10_000;
const ECHO_MS = 1_000;

/** Runs the service until it is told to stop: settings → database → migrations → first start → listen. */
export const serve = async (settings: Config): Promise<void> => {
  const logger = createLogger(settings.logLevel);
  // A promise that nobody awaited is a bug of ours, and no reason to drop everybody's requests.
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
  // From the beginning: a container's first process would not hear a signal that it has no handler for.
  const signal = stopSignal();

  const place = await openWorkplace(settings, { meanwhile: loadServing });
  const closing = [place.stop];
  try {
    const config = await withFreeAddress(settings);
    const { startServing } = await loadServing();
    closing.push(await startServing({ config, place, logger }));
    say(`Steward listens on ${config.baseUrl}`);

    const reason = await Promise.race([signal, place.lost.then(() => 'the embedded database ended')]);
    say(`Stopping: ${reason}`);
    if (!reason.startsWith('SIG')) process.exitCode = 1;
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
  } finally {
    for (const close of closing.reverse()) await close();
  }
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
