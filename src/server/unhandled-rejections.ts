import type { Logger } from '../lib/logger.ts';

/** A promise that nobody awaited is a bug of ours, and no reason to drop everybody's requests. */
export const logUnhandledRejections = (logger: Logger): void => {
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
};
