import { setTimeout as sleep } from 'node:timers/promises';

/** How long connections are still accepted, so that load balancers see the failing `/readyz`. */
const DRAIN_MS = 1_000;
/** Longer than a client takes to connect and send a request. */
export const HOLD_MS = 250;
const INTERVAL_MS = 50;

/** The steps of a shutdown that resets no connection in use. */
export type ShutdownSteps = {
  /** Still accepts connections; `/readyz` fails and responses have `Connection: close`. */
  announce: () => void;
  /**
   * Queues requests. The kernel resets connections that Node has not accepted yet, so the service must stop listening while
   * no client connects; clients that wait for a response do not connect.
   */
  hold: () => void;
  /**
   * Stops listening, handles the queued requests, and closes. The requests start after a short delay, because their clients
   * may reconnect immediately while other workers still listen.
   */
  close: () => Promise<void>;
  hasConnections?: () => Promise<boolean>;
};

export const shutDownGracefully = async ({
  announce,
  hold,
  close,
  hasConnections,
}: ShutdownSteps): Promise<void> => {
  announce();
  const end = performance.now() + DRAIN_MS;
  while (performance.now() < end && (await hasConnections?.()) !== false) await sleep(INTERVAL_MS);
  hold();
  await sleep(HOLD_MS);
  await close();
};
