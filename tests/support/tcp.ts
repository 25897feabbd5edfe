import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Connection } from '../../src/config/connection.ts';

type Address = Pick<Connection, 'host' | 'port'>;

/** Below those that Linux gives to clients and to servers that ask for any, and above those of tests/failover. */
const [FIRST_PORT, PORTS] = [30_000, 2_700];
/** Each test process begins elsewhere. */
let tried = process.pid * 97;

/** A port that is free, and that the system gives to no other program before its use. */
export const freePort = async (): Promise<number> => {
  tried += 1;
  const port = FIRST_PORT + (tried % PORTS);
  const server = createServer().listen(port, 'localhost');
  const [listening] = await Promise.allSettled([once(server, 'listening')]);
  if (listening.status === 'rejected') {
    if (listening.reason.code === 'EADDRINUSE') return freePort();
    throw listening.reason;
  }
  server.close();
  await once(server, 'close');
  return port;
};

/** Connects to a PostgreSQL server, whose host may be the folder of its socket. */
export const connectToDatabase = ({ host, port }: Address): Socket =>
  host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);

/**
 * Forwards TCP connections to a local port, or to a PostgreSQL server. After `dropPackets`, connections stay open but no data gets
 * through; `forwardPackets` affects only new connections.
 */
export const startTcpProxy = async (target: number | Address) => {
  const sockets = new Set<Socket>();
  let isForwarding = true;
  let isCut = false;

  const server = createServer((client) => {
    if (isCut) return void client.resetAndDestroy();
    const upstream = typeof target === 'number' ? connect(target, '127.0.0.1') : connectToDatabase(target);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
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
    /** Resets all connections, and new ones for so long. */
    cut: async (ms: number): Promise<void> => {
      isCut = true;
      for (const socket of sockets) socket.resetAndDestroy();
      await pause(ms);
      isCut = false;
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
};
