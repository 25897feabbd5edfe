import type { Logger } from '../lib/logger.ts';

/** Keeps the process running: an unhandled rejection is a bug, but must not abort all other requests. */
export const logUnhandledRejections = (logger: Logger): void => {
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
};
