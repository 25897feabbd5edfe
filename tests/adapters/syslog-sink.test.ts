import type { Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSyslogSink } from '../../src/adapters/event-sinks/syslog-sink.ts';
import type { TlsFiles } from '../../src/config/sink-config.ts';
import { AUTHORITY, CLIENT, SERVER } from '../support/certificates.ts';
import { makeScratchFolder, writeFiles } from '../support/files.ts';
import { failureOf } from '../support/rejects.ts';
import { startSyslogServer } from '../support/syslog.ts';
import { freePort } from '../support/tcp.ts';

const syslog = suite('events to a syslog server');

const eventsOf = (count: number, text = '') =>
  Array.from({ length: count }, (_, n) => ({
    ...{ id: n + 1, type: 'user.updated', timestamp: new Date(0), actor: null },
    subject: `subject ${n}`,
    data: { text },
  }));

const sinkTo = (port: number, tls?: TlsFiles) =>
  createSyslogSink({
    server: { host: tls ? 'localhost' : '127.0.0.1', port, isEncrypted: tls !== undefined },
    tls: tls ?? {},
    baseUrl: 'https://steward.acme.test:8443',
    ...{ refusalMs: 50, settleMs: 100 },
  });

const limit = (ms = 20_000): AbortSignal => AbortSignal.timeout(ms);

syslog('are received over TCP, in their order, with octet counting', async () => {
  using server = await startSyslogServer();
  await sinkTo(server.port).write(eventsOf(1_000), limit());

  assert.equal(
    server.ids(),
    eventsOf(1_000).map(({ id }) => id),
  );
  const [first] = server.messages();
  assert.is(first?.hostname, 'steward.acme.test');
  assert.equal(JSON.parse(first?.text ?? '').subject, 'subject 0');
});

syslog('are received over TLS, with a client certificate', async () => {
  await using folder = await makeScratchFolder();
  await writeFiles(folder.path, { ca: AUTHORITY, certificate: CLIENT.certificate, key: CLIENT.key });
  const files = { ca: folder.join('ca'), certificate: folder.join('certificate'), key: folder.join('key') };
  const tls = {
    cert: SERVER.certificate,
    key: SERVER.key,
    ca: AUTHORITY,
    requestCert: true,
    rejectUnauthorized: true,
  };
  using server = await startSyslogServer({ tls });
  await sinkTo(server.port, files).write(eventsOf(300), limit());

  assert.is(server.ids().length, 300);
  const { certificate, place } = await sinkTo(server.port, files).verify(limit());
  assert.is(place, `localhost:${server.port}`);
  assert.is(certificate?.subjectAltName, 'DNS:localhost');
  await failureOf(sinkTo(server.port, { ca: files.ca }).write(eventsOf(1), limit()));
  assert.match((await failureOf(sinkTo(server.port, {}).write(eventsOf(1), limit()))).message, /certificate/);
  assert.is(server.ids().length, 300);
});

syslog('are not taken for received if the server', async () => {
  const fails = async (
    what: string,
    onConnection: NonNullable<Parameters<typeof startSyslogServer>[0]>['onConnection'],
    ms?: number,
  ): Promise<void> => {
    using server = await startSyslogServer({ ...(onConnection && { onConnection }) });
    const [outcome] = await Promise.allSettled([
      sinkTo(server.port).write(eventsOf(500, 'x'.repeat(4_000)), limit(ms)),
    ]);
    assert.is(outcome.status, 'rejected', what);
  };
  const readToEnd = (socket: Socket) => socket.resume().on('end', () => socket.end());

  await fails('closes each connection at once', (socket) => socket.end());
  await fails('closes the second at once', (socket, number) =>
    number === 2 ? socket.end() : readToEnd(socket),
  );
  await fails('is killed without reading', (socket) => setTimeout(() => socket.resetAndDestroy(), 100));
  await fails('reads nothing', () => {}, 500);
  await fails('never closes', (socket) => socket.resume(), 500);
  await fails('reads a part and closes', (socket, number) =>
    number === 2 ? socket.once('data', () => setTimeout(() => socket.destroy(), 20)) : readToEnd(socket),
  );
  const witnesses: Socket[] = [];
  await fails('reads all and is killed before it has written', (socket, number) => {
    if (number === 1) witnesses.push(socket);
    readToEnd(socket);
    if (number === 2) socket.on('end', () => setTimeout(() => witnesses[0]?.destroy(), 20));
  });
});

syslog('cannot be sent to a port that is closed', async () => {
  const error = await failureOf(sinkTo(await freePort()).write(eventsOf(1), limit()));

  assert.match(error.message, /ECONNREFUSED/);
});

syslog.run();
