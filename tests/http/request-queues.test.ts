import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRequestQueues } from '../../src/http/connections.ts';
import { until } from '../support/time.ts';

const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const MIB = 1024 * 1024;
const queues = suite('request queues');

/** A server with request queues, and a connection to it that never reads. */
const startServer = async (handle: RequestListener) => {
  const requests = createRequestQueues();
  const server = createServer(requests.serialize(handle));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const { port } = server.address() as AddressInfo; // it listens on a port
  const client = connect(port, '127.0.0.1').pause();
  const [served] = (await accepted) as [Socket]; // of the 'connection' event
  return {
    requests,
    client,
    served,
    open: () => connect(port, '127.0.0.1').on('error', () => {}),
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

const readNow = (request: IncomingMessage): void => void request.read(0);

for (const [what, touch] of Object.entries({
  'ignores the request': () => {},
  'reads from the request': readNow,
}))
  queues(`read only a few chunks while a request waits and the previous handler ${what}`, async () => {
    await using running = await startServer(touch);
    running.client.write(GET.repeat((10 * MIB) / GET.length));

    await until('the connection is not read any more', () => running.served.isPaused());

    assert.ok(running.served.bytesRead < MIB, `${running.served.bytesRead} bytes were read`);
  });

queues('start no request while held, and all in order after the release', async () => {
  const started: string[] = [];
  await using running = await startServer((request, response) => {
    started.push(request.url ?? '');
    response.end();
  });
  running.requests.hold();
  running.client.write(['/1', '/2', '/3'].map((path) => GET.replace('/', path)).join(''));
  await until('requests wait', () => !running.requests.isIdle());
  assert.equal(started, []);

  running.requests.release();

  await until('all are handled', () => running.requests.isIdle());
  assert.equal(started, ['/1', '/2', '/3']);
});

queues('are idle after a client with waiting requests disconnects', async () => {
  await using running = await startServer(() => {});
  running.client.write(GET.repeat(100));
  await until('requests wait', () => !running.requests.isIdle());

  running.client.resetAndDestroy();
  // The server neither reads nor writes, and so does not notice the disconnect.
  running.served.destroy();

  await until('nothing waits', () => running.requests.isIdle());
});

queues('close a connection that exceeds the limit of waiting requests', async () => {
  await using running = await startServer(() => {});
  // Less than 64 KiB, which Node reads at a time.
  const others = Array.from({ length: 8 }, () => running.open());
  for (const other of others) other.write(GET.repeat(2_000));

  await until('some are closed', () => others.some((other) => other.closed));

  assert.ok(others.some((other) => !other.closed));
  for (const other of others) other.destroy();
});

queues.run();
