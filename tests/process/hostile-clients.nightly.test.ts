import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { makeDemoDir } from '../support/demo-data.ts';
import { type Service, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { until } from '../support/time.ts';

const ABORTS = 1000;
const ABORTS_AT_ONCE = 50;

const open = async ({ address }: Service): Promise<Socket> => {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  // These tests expect that the server closes connections.
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
};

type Context = { folder: Awaited<ReturnType<typeof makeDemoDir>>; service: Service; token: string };

const hostile = suite<Context>('a service among hostile clients');

hostile.before(async (context) => {
  context.folder = await makeDemoDir();
  context.service = await startService('demo', { DATA_DIR: context.folder.path });
  context.token = (await context.service.logIn('root@steward.test', 'steward-demo-1')).token;
});
hostile.after.each(async ({ service, token }) => {
  assert.is((await service.send('GET /jb/sites/', { token })).status, 200, 'it answers as before');
  assert.ok(service.isRunning());
});
hostile.after(async ({ folder, service }) => {
  await service[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

hostile('survives a client that disconnects in the middle of a body', async ({ service }) => {
  const socket = await open(service);
  const line = 'POST /api/v1/api-token-auth/ HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
  socket.write(`${line}content-length: 1000\r\n\r\n{"username": "roo`);
  await turn();

  socket.resetAndDestroy();
  await once(socket, 'close');
});

hostile(`survives ${ABORTS} aborted requests`, async ({ service, token }) => {
  const abort = async (): Promise<void> => {
    const socket = await open(service);
    socket.write(`GET /api/v1/jb/users/ HTTP/1.1\r\nhost: x\r\nauthorization: Token ${token}\r\n\r\n`);
    await turn();
    socket.resetAndDestroy();
  };

  for (let sent = 0; sent < ABORTS; sent += ABORTS_AT_ONCE) {
    await Promise.all(Array.from({ length: ABORTS_AT_ONCE }, abort));
  }

  await until('the service is ready', async () => (await service.send('GET !/readyz')).status === 200);
});

hostile('logs no internal error', ({ service }) => {
  assert.is(service.output.stderr, '');
  assert.not.match(service.output.stdout, /"level":(50|60)/);
});

hostile.run();
