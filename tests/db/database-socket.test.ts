import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DatabaseSocket } from '../../src/db/database-socket.ts';

const sockets = suite('DatabaseSocket with TLS');

/** What the socket fails with if a server answers the request for TLS with these bytes. */
const failureAfter = async (response: string): Promise<string> => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = new DatabaseSocket(true);
  const { port } = server.address() as AddressInfo; // of a TCP server
  socket.connect(port, '127.0.0.1');
  const [error] = await once(socket, 'error');
  server.close();
  return error.message;
};

sockets('fails if the server refuses TLS', async () => {
  assert.is(await failureAfter('N'), 'The server does not support SSL connections');
});

sockets('fails if bytes follow the response without encryption', async () => {
  for (const response of ['SZ', 'NS', 'E', 'HTTP/1.1 400 Bad Request'])
    assert.is(await failureAfter(response), 'There was an error establishing an SSL connection');
});

sockets.run();
