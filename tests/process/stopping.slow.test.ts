import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { makeDemoDir } from '../support/demo-data.ts';
import { type Service, serverProcesses, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { until } from '../support/time.ts';

const REQUESTS = 4;
const INVITATIONS_EACH = 20;
/** Keeps its connections until the server closes them. */
const agent = new Agent({ keepAlive: true, timeout: 0 });

/** Sends a request without the last byte of its body. `Expect` makes the server confirm that it has read the headers. */
const beginRequest = async (service: Service, token: string, body: string) => {
  const outgoing = request(`${service.address}/api/v1/jb/users/invitations/`, {
    method: 'POST',
    agent,
    headers: {
      authorization: `Token ${token}`,
      'content-type': 'application/json',
      'content-length': body.length,
      expect: '100-continue',
    },
  });
  outgoing.flushHeaders();
  const answered = once(outgoing, 'response');
  await once(outgoing, 'continue');
  outgoing.write(body.slice(0, -1));

  return async () => {
    outgoing.end(body.slice(-1));
    const [response] = await answered;
    return { status: response.statusCode, body: await text(response) };
  };
};

const bulkOf = (index: number): string =>
  JSON.stringify(
    Array.from({ length: INVITATIONS_EACH }, (_, count) => ({
      email: `guest-${index}-${count}@guest.test`,
      client: 1,
      initial_apps: ['zylTKNVx'],
    })),
  );

const stopping = suiteWith('graceful shutdown', async (started) => ({
  folder: started.use(await makeDemoDir()),
}));

/** Connections without a request, and with parts of one. */
const openIdle = async ({ address }: Service): Promise<Socket[]> => {
  const { hostname: host, port } = new URL(address);
  const sockets = ['', 'GET /healthz HT', 'GET /healthz HTTP/1.1\r\nhost: x\r\n'].map((start) => {
    const socket = connect(Number(port), host);
    if (start !== '') socket.write(start);
    return socket.on('error', () => {});
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
};

stopping('completes running requests, and waits for no idle connection', async ({ folder }) => {
  await using service = await startService('demo', { DATA_DIR: folder.path });
  const { token } = await service.logIn('admin@acme.test', 'steward-demo-1');
  const idle = await openIdle(service);
  const requests = await Promise.all(
    Array.from({ length: REQUESTS }, (_, index) => beginRequest(service, token, bulkOf(index))),
  );

  const ending = service.kill('SIGTERM');
  await until('the service is stopping', () => service.output.stdout.includes('Stopping: SIGTERM'));
  const answers = await Promise.all(requests.map((finish) => finish()));
  const { code, stderr } = await ending;

  for (const { status, body } of answers) {
    assert.is(status, 200, body);
    assert.is(JSON.parse(body).length, INVITATIONS_EACH);
  }
  // If it had waited for an idle connection, its deadline would have ended it with status 1.
  assert.equal([code, stderr], [0, '']);
  assert.equal(await serverProcesses(folder.path), []);
  for (const socket of idle) socket.destroy();
});

stopping.run();
