import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A port that is free at the moment. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server
  server.close();
  await once(server, 'close');
  return port;
};
