import { setTimeout as sleep } from 'node:timers/promises';

/** For how long connections are still accepted: load balancers look at `/readyz` meanwhile, and clients leave. */
const LEAVE_MS = 1_000;
/** Longer than a client takes to connect and send a request. */
export const HOLD_MS = 250;
const INTERVAL_MS = 50;

/** How the service stops without resetting connections that are in use. */
export type ShutdownSteps = {
  /** Connections are still accepted. `/readyz` fails, and responses say `Connection: close`. */
  announce: () => void;
  /**
   * Requests wait. The system resets connections that it has accepted and Node has not, so the service must stop listening
   * while no client connects; and a client that waits for a response does not.
   */
  hold: () => void;
  /**
   * Stops listening, handles the requests, and ends. The requests begin a little later, because their clients may connect again
   * at once, and other workers have to be as far as this one.
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
  const end = performance.now() + LEAVE_MS;
  while (performance.now() < end && (await hasConnections?.()) !== false) await sleep(INTERVAL_MS);
  hold();
  await sleep(HOLD_MS);
  await close();
};
