import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { ADA, appSuite, DEMO_PASSWORD, type TestApp } from '../support/test-app.ts';

const clientErrors = appSuite('client errors');

/** Writes bytes to a socket of the service and returns the whole response. */
const sendRaw = async (app: TestApp, bytes: string): Promise<string> => {
  if (!app.server.server.listening) await app.server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = new URL(app.server.listeningOrigin);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(bytes);
  return text(socket);
};

clientErrors('answers invalid HTTP with a problem and closes the connection', async ({ app }) => {
  const answer = await sendRaw(app, 'HELLO\r\n\r\n');

  assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
  assert.match(answer, 'application/problem+json');
  assert.match(answer, 'urn:steward:problem:malformed-request');
});

clientErrors('answers endless headers with 431', async ({ app }) => {
  const answer = await sendRaw(app, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`);

  assert.match(answer, /^HTTP\/1\.1 431 /);
});

clientErrors('keeps serving others after a caller disconnects in the middle of a body', async ({ app }) => {
  await sendRaw(app, 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const { port } = new URL(app.server.listeningOrigin);
  for (let n = 0; n < 50; n += 1) {
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write('POST /api/v1/api-token-auth/ HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n{"user');
    socket.destroy();
  }

  assert.is((await app.send('GET /jb/sites/', { as: ADA })).statusCode, 200);
});

clientErrors('does not answer a complete request with the error of the next one', async ({ app }) => {
  const body = JSON.stringify({ username: ADA, password: DEMO_PASSWORD });
  const login = `POST /api/v1/api-token-auth/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const answer = await sendRaw(app, `${login}GARBAGE\r\n\r\n`);

  assert.match(answer, /^HTTP\/1\.1 200 OK/);
  assert.match(answer, /"token":"[0-9a-f]{40}"/);
});

clientErrors('answers a malformed chunked body at once', async ({ app }) => {
  const head = 'POST /api/v1/api-token-auth/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';

  assert.match(await sendRaw(app, `${head}no chunk\r\n`), /^HTTP\/1\.1 400 /);
});

clientErrors.run();
