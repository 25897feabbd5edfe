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
const PATIENCE_MS = 5000;

/** Requests that no client library would send. */
const NOT_HTTP: Record<string, string> = {
  'something that is no HTTP': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
  'a path of two slashes': 'GET // HTTP/1.1\r\nhost: x\r\n\r\n',
  'a path that is no URL': 'GET /api/v1/jb/users/%E0%A4%A/ HTTP/1.1\r\nhost: x\r\n\r\n',
  'a whole URL of a bad host': 'GET http://[::bad HTTP/1.1\r\nhost: x\r\n\r\n',
  'no Host': 'GET /api/v1/jb/sites/ HTTP/1.1\r\n\r\n',
  'a Host of no form': 'GET /api/v1/jb/sites/ HTTP/1.1\r\nhost: a b:c:d\r\n\r\n',
  'two lengths':
    'POST /api/v1/api-token-auth/ HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
  'both a length and chunks':
    'POST /api/v1/api-token-auth/ HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  'a broken chunk':
    'POST /api/v1/api-token-auth/ HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
  'an unknown method': 'EXPLODE /api/v1/jb/sites/ HTTP/1.1\r\nhost: x\r\n\r\n',
  'headers without end': `GET /healthz HTTP/1.1\r\nhost: x\r\n${'x-bomb: boom\r\n'.repeat(5000)}\r\n`,
  'one enormous header': `GET /healthz HTTP/1.1\r\nhost: x\r\nx-bomb: ${'o'.repeat(100_000)}\r\n\r\n`,
  'a NUL in a header': 'GET /healthz HTTP/1.1\r\nhost: x\r\nx-nul: a\0b\r\n\r\n',
  'an upgrade': 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
  'a CONNECT': 'CONNECT example.test:443 HTTP/1.1\r\nhost: example.test\r\n\r\n',
};

const BROKEN_BODIES: Record<string, string> = {
  'cut-off JSON': '{"username": "a", "password": ',
  'no JSON': '<xml/>',
  'a lone surrogate': '{"username": "\\ud800", "password": "\\udfff"}',
  'a NUL': '{"username": "\\u0000", "password": "\\u0000"}',
  'a nesting of 8,000': '['.repeat(8_000),
  'a prototype': '{"__proto__": {"username": 1}, "constructor": {"prototype": {}}}',
};

const open = async ({ address }: Service): Promise<Socket> => {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  // These tests expect that the server closes connections.
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
};

/** Sends the text and reads until the server has responded or closed the connection. */
const exchange = async (service: Service, text: string): Promise<string> => {
  const socket = await open(service);
  let answer = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    answer += chunk;
    if (answer.includes('\r\n\r\n')) socket.end();
  });
  socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  const closed = once(socket, 'close');
  socket.write(text, 'latin1');
  await closed;
  return answer;
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

for (const [what, text] of Object.entries(NOT_HTTP)) {
  hostile(`survives ${what}`, async ({ service }) => {
    const answer = await exchange(service, text);

    assert.match(answer, /^(HTTP\/1\.1 [234]\d\d |$)/);
  });
}

for (const [what, body] of Object.entries(BROKEN_BODIES)) {
  hostile(`answers 400 to a login with ${what}`, async ({ service }) => {
    const response = await fetch(`${service.address}/api/v1/api-token-auth/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });

    assert.is(response.status, 400);
    assert.match(response.headers.get('content-type') ?? '', /^application\/problem\+json/);
    await response.body?.cancel();
  });
}

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
