import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOLD_MS, type StopSteps } from '../../lib/graceful-shutdown.ts';
import type { RequestQueues } from './request-queues.ts';

const INTERVAL_MS = 50;
/** From the beginning of a stop. After it responses are cut off: a stream lasts as long as its reader likes. */
const DEADLINE_MS = 8_000;

export const createDrain = (server: Server, requests: RequestQueues, closeServer: () => Promise<unknown>) => {
  let deadline: number | undefined;

  return {
    hasConnections: () =>
      new Promise((resolve) => server.getConnections((_error, count) => resolve(count > 0))),

    announce: (): void => {
      deadline ??= performance.now() + DEADLINE_MS;
      requests.closeConnections();
    },

    hold: requests.hold,

    /**
     * Waits for requests, and not for connections. Node closes only those that are idle when it stops listening: one that was
     * busy then is kept alive, and one that has not sent a request yet (browsers open some in advance) does not count as idle.
     */
    close: async (): Promise<void> => {
      const closed = closeServer();
      if (deadline !== undefined) await sleep(HOLD_MS);
      requests.release();
      const end = deadline ?? performance.now() + DEADLINE_MS;
      const isTime = () => requests.isIdle() || performance.now() > end;
      const cutting = setInterval(() => isTime() && server.closeAllConnections(), INTERVAL_MS);
      await closed.finally(() => clearInterval(cutting));
    },
  } satisfies StopSteps;
};
