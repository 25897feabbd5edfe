import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DatabaseSocket } from '../../src/db/database-socket.ts';

const sockets = suite('DatabaseSocket');

/** What the socket fails with if a server answers the first bytes, such as the request for TLS, with these. */
const failureAfter = async (response: string | Buffer, isEncrypted = true): Promise<string> => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = new DatabaseSocket(isEncrypted);
  const { port } = server.address() as AddressInfo; // of a TCP server
  socket.resume().connect(port, '127.0.0.1');
  if (!isEncrypted) socket.once('connect', () => socket.write('startup'));
  const [error] = await once(socket, 'error');
  server.close();
  return error.message;
};

sockets('fails if it needs TLS and the server refuses', async () => {
  assert.is(await failureAfter('N'), 'The server does not support SSL connections');
});

sockets('fails if bytes follow the response to its request for TLS', async () => {
  for (const response of ['SZ', 'NS', 'E', 'HTTP/1.1 400 Bad Request'])
    assert.is(await failureAfter(response), 'There was an error establishing an SSL connection');
});

sockets('fails if a server of another protocol sends a length that no message has', async () => {
  for (const length of [-1, -(2 ** 31), 0, 3]) {
    const header = Buffer.from('R0000');
    header.writeInt32BE(length, 1);
    const message = await failureAfter(header, false);
    assert.is(message, 'The server does not use the protocol of PostgreSQL');
  }
});

sockets.run();
