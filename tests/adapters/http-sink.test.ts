import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createHttpSink } from '../../src/adapters/event-sinks/http-sink.ts';
import { AUTHORITY, SERVER } from '../support/certificates.ts';
import { makeScratchFolder } from '../support/files.ts';
import { failureOf } from '../support/rejects.ts';

const http = suite('events to an HTTPS URL');
const { signal } = new AbortController();

const EVENTS = [1, 2].map((id) => ({
  id,
  type: 'user.updated',
  timestamp: new Date(0),
  subject: 'é\n',
  actor: null,
}));

const startCollector = async () => {
  const received: { headers: IncomingHttpHeaders; path: string; body: string }[] = [];
  const collector = { received, status: 204 };
  const server = createServer({ cert: SERVER.certificate, key: SERVER.key }, async (request, response) => {
    received.push({ headers: request.headers, path: request.url ?? '', body: await text(request) });
    if (collector.status === 302) response.setHeader('location', '/elsewhere');
    response.writeHead(collector.status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server
  return Object.assign(collector, {
    url: `https://localhost:${port}/ingest?source=steward`,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
};

http('are posted as lines of JSON, with the secret of the file', async () => {
  await using folder = await makeScratchFolder();
  await using collector = await startCollector();
  const [ca, authorizationFile] = [folder.join('ca.pem'), folder.join('authorization')];
  await writeFile(ca, AUTHORITY);
  await writeFile(authorizationFile, 'Bearer one\n');
  const sink = createHttpSink({ url: collector.url, authorizationFile, tls: { ca } });
  await sink.write(EVENTS, signal);
  await writeFile(authorizationFile, 'Bearer two');
  await sink.write(EVENTS, signal);

  const [first, second] = collector.received;
  assert.is(first?.path, '/ingest?source=steward');
  assert.is(first?.headers['content-type'], 'application/x-ndjson');
  assert.is(first?.body, EVENTS.map((event) => `${JSON.stringify(event)}\n`).join(''));
  assert.equal([first?.headers.authorization, second?.headers.authorization], ['Bearer one', 'Bearer two']);
});

http('are acknowledged by a status from 200 to 299 only', async () => {
  await using folder = await makeScratchFolder();
  await using collector = await startCollector();
  const ca = folder.join('ca.pem');
  await writeFile(ca, AUTHORITY);
  const sink = createHttpSink({ url: collector.url, tls: { ca } });
  for (const status of [200, 202, 204]) {
    collector.status = status;
    await sink.write(EVENTS, signal);
  }
  for (const status of [302, 400, 401, 413, 429, 500, 503]) {
    collector.status = status;
    assert.match((await failureOf(sink.write(EVENTS, signal))).message, new RegExp(`status ${status}$`));
  }
  assert.is(collector.received.length, 10, 'redirects are not followed');
});

http('are not sent to a server with an unknown certificate, or without a usable secret', async () => {
  await using folder = await makeScratchFolder();
  await using collector = await startCollector();
  const [ca, authorizationFile] = [folder.join('ca.pem'), folder.join('authorization')];
  await writeFile(ca, AUTHORITY);
  assert.match(
    (await failureOf(createHttpSink({ url: collector.url, tls: {} }).write(EVENTS, signal))).message,
    /certificate/,
  );
  const sink = createHttpSink({ url: collector.url, authorizationFile, tls: { ca } });
  for (const content of ['', 'Bearer one\nBearer two', 'Bearer \0']) {
    await writeFile(authorizationFile, content);
    const { message } = await failureOf(sink.write(EVENTS, signal));
    assert.match(message, /must hold one line/);
    assert.not.match(message, /one\n/);
  }
  await rm(authorizationFile);
  assert.match((await failureOf(sink.write(EVENTS, signal))).message, /ENOENT/);
  assert.is(collector.received.length, 0);
});

http.run();
