import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/**
 * Forwards TCP connections to a PostgreSQL socket directory. After `dropPackets`, connections stay open but no data gets
 * through; `forwardPackets` affects only new connections.
 */
export const startTcpProxy = async (socketDirectory: string) => {
  const sockets = new Set<Socket>();
  let isForwarding = true;

  const server = createServer((client) => {
    const upstream = connect(`${socketDirectory}/.s.PGSQL.5432`);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
      socket.on('end', () => other.end());
    }
    if (!isForwarding) return;
    client.pipe(upstream);
    upstream.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();

  return {
    port: address !== null && typeof address === 'object' ? address.port : 0,
    dropPackets: (): void => {
      isForwarding = false;
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
        socket.removeAllListeners('end');
      }
    },
    forwardPackets: (): void => {
      isForwarding = true;
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
};
