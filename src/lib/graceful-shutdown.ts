import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** How long connections are still accepted, so that load balancers see the failing `/readyz`. */
const DRAIN_MS = 1_000;
/** Longer than a client takes to connect and send a request. */
const HOLD_MS = 250;
const INTERVAL_MS = 50;

/** The steps of a shutdown that resets no connection in use. */
export type ShutdownSteps = {
  /** Still accepts connections; `/readyz` fails and responses have `Connection: close`. */
  announce: () => void | Promise<void>;
  /**
   * Queues requests. Without this step, the kernel would reset connections that Node has not accepted when it stops listening: the service
   * must stop while no client connects, and clients that wait for a response do not connect.
   */
  hold: () => void | Promise<void>;
  /** Resolves when no more connections are accepted. */
  stopListening: () => Promise<void>;
  /** Handles the queued requests, then closes. */
  close: () => Promise<void>;
  hasConnections?: () => Promise<boolean>;
};

export const shutDownGracefully = async (steps: ShutdownSteps): Promise<void> => {
  await steps.announce();
  const end = performance.now() + DRAIN_MS;
  while (performance.now() < end && (await steps.hasConnections?.()) !== false) await sleep(INTERVAL_MS);
  await steps.hold();
  // Not one long timer: a process that was suspended still gets time to accept the waiting connections.
  for (let held = 0; held < HOLD_MS; held += INTERVAL_MS) await sleep(INTERVAL_MS);
  await steps.stopListening();
  await steps.close();
};

/** Lets the event loop accept waiting connections and read waiting requests: on a busy machine, timers run before them. */
export const readSockets = async (): Promise<void> => {
  for (let turn = 0; turn < 2; turn += 1) await nextTurn();
};
