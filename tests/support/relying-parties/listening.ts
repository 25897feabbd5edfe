import { once } from 'node:events';
import type { Server } from 'node:http';

/** Listens on loopback. Returns the port, which is free unless one is given. */
export const listen = async (server: Server, port = 0): Promise<number> => {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  return bound !== null && typeof bound === 'object' ? bound.port : 0;
};

export const closeServer = async (server: Server): Promise<void> => {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
};
