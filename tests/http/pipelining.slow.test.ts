import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, type TestApp } from '../support/test-app.ts';

const pipelining = appSuite('pipelined requests');

const open = async (app: TestApp): Promise<Socket> => {
  if (!app.server.server.listening) await app.server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = new URL(app.server.listeningOrigin);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
};

/** Sends all at once and returns everything that comes back; the last request must say `Connection: close`. */
const sendRaw = async (app: TestApp, bytes: string): Promise<string> => {
  const socket = await open(app);
  socket.write(bytes);
  return text(socket);
};

const requestOf = (line: string, headers: Record<string, string> = {}, body = ''): string =>
  [
    `${line} HTTP/1.1`,
    'host: x',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    '',
    body,
  ].join('\r\n');

const idsOf = (responses: string): string[] =>
  [...responses.matchAll(/^x-request-id: (\S+)\r$/gim)].map(([, id = '']) => id);

pipelining('are answered in order, a hundred at a time', async ({ app }) => {
  const paths = ['/healthz', '/api/v1/jb/sites/', '/nothing', '/%zz', '/readyz'];
  const ids = Array.from({ length: 100 }, (_, index) => `request-${index}`);
  const requests = ids.map((id, index) =>
    requestOf(`GET ${paths[index % paths.length]}`, {
      'x-request-id': id,
      ...(index === ids.length - 1 && { connection: 'close' }),
    }),
  );

  const responses = await sendRaw(app, requests.join(''));

  assert.equal(idsOf(responses), ids);
});

pipelining('are answered if the client starts to read only after sending everything', async ({ app }) => {
  const token = await app.tokenOf(ACME);
  const get = requestOf('GET /api/v1/jb/users/', { authorization: `Token ${token}` });
  const last = requestOf('GET /healthz', { connection: 'close', 'x-request-id': 'last' });
  const socket = await open(app);
  socket.pause();
  socket.write(get.repeat(100) + last);
  await once(app.server.server, 'request');

  const responses = await text(socket);

  assert.is(responses.match(/HTTP\/1\.1 200 OK\r\n/g)?.length, 101);
  assert.is(idsOf(responses).at(-1), 'last');
});

pipelining('are handled one after another on a connection', async ({ app }) => {
  const path = '/api/v1/jb/users/ada@acme.test/';
  const headers = { authorization: `Token ${await app.tokenOf(ACME)}`, 'content-type': 'application/json' };
  const names = Array.from({ length: 20 }, (_, index) => `Ada ${index}`);
  const exchanges = names.map(
    (first_name) =>
      requestOf(`PATCH ${path}`, headers, JSON.stringify({ first_name })) + requestOf(`GET ${path}`, headers),
  );

  const responses = await sendRaw(
    app,
    exchanges.join('') + requestOf('GET /healthz', { connection: 'close' }),
  );

  const seen = [...responses.matchAll(/"first_name":"([^"]+)"/g)].map(([, name]) => name);
  assert.equal(
    seen,
    names.flatMap((name) => [name, name]),
  );
});

pipelining('keep their bodies while they wait', async ({ app }) => {
  const body = JSON.stringify({ username: ADA, password: 'x'.repeat(10_000) });
  const login = requestOf('POST /api/v1/api-token-auth/', { 'content-type': 'application/json' }, body);
  const bodies = Array.from({ length: 20 }, () => login).join('');

  const responses = await sendRaw(app, bodies + requestOf('GET /healthz', { connection: 'close' }));

  assert.is(responses.match(/HTTP\/1\.1 400 /g)?.length, 20);
  assert.match(responses, 'HTTP/1.1 200 OK');
});

pipelining.run();
