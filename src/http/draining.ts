import type { Server } from 'node:http';

const INTERVAL_MS = 50;
/** After it answers are cut off: a stream lasts as long as its reader likes. Ends before the process is made to. */
const PATIENCE_MS = 8_000;

/**
 * Makes a stop wait for requests, and not for connections. Node cuts idle ones at the moment of closing only: one
 * that was busy then is kept alive afterwards, and one that has not sent a request yet (browsers open some
 * in advance) does not even count as idle. Either would hold up the end for as long as the client likes.
 */
export const createDrain = (server: Server) => {
  let underWay = 0;
  const ended = () => {
    underWay -= 1;
  };
  server.on('request', (_request, response) => {
    underWay += 1;
    response.once('close', ended);
  });

  return async (closeServer: () => Promise<unknown>): Promise<void> => {
    const deadline = performance.now() + PATIENCE_MS;
    const isTime = () => underWay === 0 || performance.now() > deadline;
    const cutting = setInterval(() => isTime() && server.closeAllConnections(), INTERVAL_MS);
    await closeServer().finally(() => clearInterval(cutting));
  };
};
