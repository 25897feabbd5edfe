import type { Server } from 'node:http';

const INTERVAL_MS = 50;

/**
 * Makes a stop wait for requests, and not for connections. Node cuts idle ones at the moment of closing only: one
 * that was busy then is kept alive afterwards, and one that has not sent a request yet (browsers open some
 * in advance) does not even count as idle. Either would hold up the end for as long as the client likes.
 */
export const createDrain = (server: Server) => {
  let underWay = 0;
  server.on('request', (_request, response) => {
    underWay += 1;
    response.once('close', () => {
      underWay -= 1;
    });
  });

  return async (closeServer: () => Promise<unknown>): Promise<void> => {
    const cutting = setInterval(() => underWay === 0 && server.closeAllConnections(), INTERVAL_MS);
    await closeServer().finally(() => clearInterval(cutting));
  };
};
