import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOLD_MS, type ShutdownSteps } from '../../lib/graceful-shutdown.ts';
import type { RequestQueues } from './request-queues.ts';

const INTERVAL_MS = 50;
/** From the start of the shutdown. Responses that take longer are aborted: a stream lasts as long as its slow reader. */
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
     * Waits for requests rather than connections. When it stops listening, Node closes only idle connections: it keeps busy ones
     * alive afterwards, and those without a first request (browsers open some in advance) do not count as idle.
     */
    close: async (): Promise<void> => {
      const closed = closeServer();
      if (deadline !== undefined) await sleep(HOLD_MS);
      requests.release();
      const end = deadline ?? performance.now() + DEADLINE_MS;
      const isDone = () => requests.isIdle() || performance.now() > end;
      const closing = setInterval(() => isDone() && server.closeAllConnections(), INTERVAL_MS);
      await closed.finally(() => clearInterval(closing));
    },
  } satisfies ShutdownSteps;
};
