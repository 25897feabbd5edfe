import { once } from 'node:events';
import { type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const budget = appSuite('body budget');

const MIB = 1024 * 1024;
const USAGE = '/api/v1/jb/apps/zylTKNVx/usage/';
const OVERLOADED = /"status":503,"retryAfter":"2".*overloaded/;

type Upload = { method?: string; path: string; headers: OutgoingHttpHeaders; token?: string };

/** Sends the headers of an upload without its body. */
const begin = async (app: TestApp, { method = 'POST', path, headers, token }: Upload) => {
  if (!app.server.server.listening) await app.server.listen({ port: 0, host: '127.0.0.1' });
  const outgoing = request(new URL(path, app.server.listeningOrigin), {
    method,
    agent: false,
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Token ${token}` }),
      ...headers,
    },
  }).on('error', () => {});
  outgoing.flushHeaders();
  const answered = once(outgoing, 'response').then(async ([response]) =>
    JSON.stringify({
      status: response.statusCode,
      retryAfter: response.headers['retry-after'],
      body: await text(response),
    }),
  );
  // The test aborts the upload.
  answered.catch(() => {});
  return { outgoing, answered };
};

/** Starts three more uploads than fit into the budget, and waits until three have been refused. */
const fillRoom = async (app: TestApp, room: number, upload: Upload) => {
  const refused: string[] = [];
  const begun = await Promise.all(Array.from({ length: room + 3 }, () => begin(app, upload)));
  for (const { answered } of begun) answered.then((refusal) => refused.push(refusal)).catch(() => {});
  await until('three are refused', () => refused.length >= 3);
  for (const refusal of refused) assert.match(refusal, OVERLOADED);

  return async () => {
    for (const { outgoing } of begun) outgoing.destroy();
    const { server } = app.server;
    const count = () =>
      new Promise<number>((resolve) => server.getConnections((_error, open) => resolve(open)));
    await until('all connections have ended', async () => (await count()) === 0);
    assert.is(refused.length, 3);
  };
};

budget('has room for 32 MiB, and answers more with 503', async ({ app }) => {
  for (const headers of [{ 'content-length': 16 * MIB }, { 'transfer-encoding': 'chunked' }])
    for (const path of [USAGE, '/trpc/usage.record']) {
      const leave = await fillRoom(app, 2, { path, headers, token: await app.tokenOf(STAFF) });
      await leave();
    }
});

budget('has separate 8 MiB for anonymous callers', async ({ app }) => {
  const leave = await fillRoom(app, 8, {
    path: '/trpc/sessions.create',
    headers: { 'content-length': MIB },
  });
  const known = await app.send(`POST ${USAGE.slice('/api/v1'.length)}`, {
    as: STAFF,
    payload: ' '.repeat(16 * MIB),
    headers: { 'content-type': 'application/json' },
  });

  assert.is(known.statusCode, 400, known.body);
  await leave();
});

budget('refuses a large body of a user without the role before it is read', async ({ app }) => {
  const token = await app.tokenOf(ADA);
  for (const path of [USAGE, '/trpc/usage.record'])
    for (const headers of [{ 'content-length': 16 * MIB }, { 'transfer-encoding': 'chunked' }]) {
      const { outgoing, answered } = await begin(app, { path, headers, token });
      assert.match(await answered, /"status":403.*forbidden/);
      outgoing.destroy();
    }
});

budget('is released when the response has been sent', async ({ app }) => {
  const token = await app.tokenOf(ROOT);
  for (let n = 0; n < 3; n += 1) {
    const headers = { 'content-length': 16 * MIB };
    const upload = await begin(app, { path: '/api/v1/jb/users/invitations/', headers, token });
    upload.outgoing.end(Buffer.alloc(16 * MIB, ' '));
    assert.match(await upload.answered, '"status":400');
  }
});

budget('is not taken by an upload that was lost during the authentication', async ({ app }) => {
  const token = await app.tokenOf(ACME);
  const headers = { 'content-length': 16 * MIB };
  for (let n = 0; n < 20; n += 1) (await begin(app, { path: USAGE, headers, token })).outgoing.destroy();

  const next = await begin(app, { path: USAGE, headers, token });
  next.outgoing.end(Buffer.alloc(16 * MIB, ' '));
  assert.match(await next.answered, '"status":400');
});

budget('answers a body without credentials with 401 before reading it, also of a GET', async ({ app }) => {
  const uploads = [
    { path: '/trpc/usage.record', headers: { 'content-length': 16 * MIB } },
    { method: 'GET', path: '/api/v1/jb/users/', headers: { 'content-length': MIB } },
    { method: 'GET', path: '/api/v1/jb/users/', headers: { 'transfer-encoding': 'chunked' } },
  ];
  for (const upload of uploads) {
    const { outgoing, answered } = await begin(app, { ...upload, token: 'f'.repeat(40) });
    assert.match(await answered, /"status":401.*unauthenticated/);
    outgoing.destroy();
  }
});

budget('reads a refused body to its end, so that the connection takes the next request', async ({ app }) => {
  if (!app.server.server.listening) await app.server.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect(Number(new URL(app.server.listeningOrigin).port), '127.0.0.1');
  const headers = `host: x\r\ncontent-type: application/json\r\ncontent-length: ${16 * MIB}`;
  socket.write(`POST /trpc/usage.record HTTP/1.1\r\n${headers}\r\n\r\n`);
  socket.write(Buffer.alloc(16 * MIB, ' '));
  socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');

  assert.match(await text(socket), /^HTTP\/1.1 401 .*unauthenticated.*HTTP\/1.1 200 OK/s);
});

budget.run();
