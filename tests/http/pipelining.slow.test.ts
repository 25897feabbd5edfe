import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { sendRaw } from '../support/http-clients.ts';
import { ACME, addressOf, appSuite } from '../support/test-app.ts';

const pipelining = appSuite('pipelined requests');

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
  const socket = connect(Number(new URL(await addressOf(app)).port), '127.0.0.1');
  await once(socket, 'connect');
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
  const twice = names.flatMap((name) => [name, name]);
  assert.equal(seen, twice);
});

pipelining.run();
