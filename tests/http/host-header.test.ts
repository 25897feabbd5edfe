import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { appSuite, type TestApp } from '../support/test-app.ts';

const hosts = appSuite('Host header');

const statusOf = async (app: TestApp, headers: string, version = '1.1'): Promise<string> => {
  if (!app.server.server.listening) await app.server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = new URL(app.server.listeningOrigin);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`GET /healthz HTTP/${version}\r\n${headers}Connection: close\r\n\r\n`);
  const response = await text(socket);
  if (response.startsWith('HTTP/1.1 400')) assert.match(response, 'urn:steward:problem:malformed-request');
  return response.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
};

for (const value of ['localhost:8000', 'a-b.example.com', '127.0.0.1:1', '[::1]:8000', '[::1]', 'a,b', ''])
  hosts(`accepts "${value}"`, async ({ app }) => {
    assert.is(await statusOf(app, `Host: ${value}\r\n`), '200');
  });

for (const value of ['a b', 'a:b', 'a:1:2', 'user@host', 'a/b', '[::1', '<x>', 'http://x', 'a%zz'])
  hosts(`answers "${value}" with 400`, async ({ app }) => {
    assert.is(await statusOf(app, `Host: ${value}\r\n`), '400');
  });

hosts('answers a second header with 400, even with the same value', async ({ app }) => {
  assert.is(await statusOf(app, 'Host: a\r\nHost: b\r\n'), '400');
  assert.is(await statusOf(app, 'Host: a\r\nX: y\r\nhost: a\r\n'), '400');
});

hosts('is required in HTTP/1.1 and optional in HTTP/1.0', async ({ app }) => {
  assert.is(await statusOf(app, ''), '400');
  assert.is(await statusOf(app, '', '1.0'), '200');
  assert.is(await statusOf(app, 'Host: a\r\nHost: b\r\n', '1.0'), '400');
});

hosts.run();
