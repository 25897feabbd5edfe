import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSyslogSink, frameOf, messageOf } from '../../src/adapters/event-sinks/syslog-sink.ts';
import type { TlsFiles } from '../../src/config/sink-config.ts';
import { AUDIT_ACTIONS, eventTypeOf } from '../../src/services/audit/event-types.ts';
import { anyCharacter } from '../support/any-character.ts';
import { AUTHORITY, CLIENT, SERVER } from '../support/certificates.ts';
import { makeScratchFolder, writeFiles } from '../support/files.ts';
import { failureOf } from '../support/rejects.ts';

/** What a message of RFC 5424 says. */
type SyslogMessage = {
  priority: number;
  timestamp: string;
  hostname: string;
  appName: string;
  msgId: string;
  /** Of the only element of the structured data, unescaped. */
  parameters: Record<string, string>;
  sdId: string;
  /** The text after the structured data. */
  text: string;
};

/** The grammar of RFC 5424, 6, as far as messages have a time and one element. */
const MESSAGE =
  /^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z) ([\x21-\x7e]{1,255}) ([\x21-\x7e]{1,48}) ([\x21-\x7e]{1,128}) ([\x21-\x7e]{1,32}) \[([^\s="\]]{1,32})((?: [^\s="\]]{1,32}="(?:\\["\\\]]|[^"\\\]])*")*)\] (.*)$/su;

/** @throws Error if it is not a syslog message */
const parseSyslog = (message: string): SyslogMessage => {
  const match = MESSAGE.exec(message);
  if (!match) throw new Error(`no message of RFC 5424: ${message}`);
  const [, priority, timestamp = '', hostname = '', appName = '', , msgId = '', sdId = '', data = ''] = match;
  const parameters = [...data.matchAll(/ ([^=]+)="((?:\\.|[^"\\])*)"/gsu)].map(
    ([, name = '', value = '']) => [name, value.replaceAll(/\\(.)/gsu, '$1')],
  );
  return {
    priority: Number(priority),
    timestamp,
    hostname,
    appName,
    msgId,
    sdId,
    parameters: Object.fromEntries(parameters),
    text: match[9] ?? '',
  };
};

/** The whole messages of a stream with octet counting, and what follows them. */
const readFrames = (bytes: Buffer): { messages: string[]; rest: Buffer } => {
  const messages: string[] = [];
  let rest = bytes;
  for (;;) {
    const [head = '', length] = /^([1-9]\d*) /.exec(rest.subarray(0, 12).toString('latin1')) ?? [];
    const end = head.length + Number(length);
    if (head === '' || rest.length < end) return { messages, rest };
    messages.push(rest.subarray(head.length, end).toString());
    rest = rest.subarray(end);
  }
};

type ServerOptions = {
  /** Default: none, plain TCP. */
  tls?: TlsOptions;
  /** What the server does with a connection. Default: reads it to the end, and closes it. */
  onConnection?: (socket: Socket, number: number) => void;
};

/** A syslog server on loopback that keeps what it reads. Disposing it ends its connections. */
const startSyslogServer = async ({ tls, onConnection }: ServerOptions = {}) => {
  const sockets = new Set<Socket>();
  const read: Buffer[] = [];
  let connections = 0;
  const accept = (socket: Socket): void => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    if (onConnection) {
      onConnection(socket, connections);
      return;
    }
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => {
      read.push(Buffer.concat(chunks));
      socket.end();
    });
  };
  const options = { allowHalfOpen: true };
  const server = tls ? createTlsServer({ ...options, ...tls }, accept) : createServer(options, accept);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server
  return {
    port,
    messages: () => read.flatMap((bytes) => readFrames(bytes).messages.map(parseSyslog)),
    ids: () =>
      read.flatMap((bytes) =>
        readFrames(bytes).messages.map((each) => Number(parseSyslog(each).parameters.id)),
      ),
    connections: () => connections,
    [Symbol.dispose]: (): void => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};

const syslog = suite('events to a syslog server');

const eventsOf = (count: number, text = '') =>
  Array.from({ length: count }, (_, n) => ({
    id: n + 1,
    type: 'user.updated',
    timestamp: new Date(0),
    actor: null,
    subject: `subject ${n}`,
    data: { text },
  }));

const sinkTo = (port: number, tls?: TlsFiles, waits = { refusalMs: 1, settleMs: 1 }) =>
  createSyslogSink({
    server: { host: tls ? 'localhost' : '127.0.0.1', port, isEncrypted: tls !== undefined },
    tls: tls ?? {},
    baseUrl: 'https://steward.acme.test:8443',
    ...waits,
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
  await failureOf(sinkTo(server.port, { ca: files.ca }).write(eventsOf(1), limit()));
  assert.match((await failureOf(sinkTo(server.port, {}).write(eventsOf(1), limit()))).message, /certificate/);
  assert.is(server.ids().length, 300);
});

syslog('are not taken for received if the server', async () => {
  // A failure ends the wait in which it happens, so that a long one costs no time.
  const [SHORT_MS, LONG_MS] = [1, 20_000];
  const refused = { refusalMs: LONG_MS, settleMs: LONG_MS };
  const taken = { refusalMs: SHORT_MS, settleMs: LONG_MS };
  const fails = async (
    what: string,
    waits: typeof refused,
    onConnection: NonNullable<ServerOptions['onConnection']>,
    ms?: number,
  ): Promise<void> => {
    using server = await startSyslogServer({ onConnection });
    const [outcome] = await Promise.allSettled([
      sinkTo(server.port, undefined, waits).write(eventsOf(500, 'x'.repeat(4_000)), limit(ms)),
    ]);
    assert.is(outcome.status, 'rejected', what);
  };
  const readToEnd = (socket: Socket) => socket.resume().on('end', () => socket.end());

  await fails('closes each connection at once', refused, (socket) => socket.end());
  await fails('closes the second at once', refused, (socket, number) =>
    number === 2 ? socket.end() : readToEnd(socket),
  );
  const unread: Socket[] = [];
  await fails('is killed without reading', refused, (socket, number) => {
    unread.push(socket);
    if (number === 2) for (const each of unread) each.resetAndDestroy();
  });
  await fails('reads nothing', taken, () => {}, 200);
  await fails('never closes', taken, (socket) => socket.resume(), 200);
  await fails('reads a part and closes', taken, (socket, number) => {
    if (number !== 2) return readToEnd(socket);
    return socket.once('data', () => socket.destroy());
  });
  const witnesses: Socket[] = [];
  await fails('reads all and is killed before it has written', taken, (socket, number) => {
    if (number === 1) witnesses.push(socket);
    readToEnd(socket);
    if (number === 2) socket.on('end', () => witnesses[0]?.destroy());
  });
});

syslog.run();

const messages = suite('syslog messages');

const event = {
  id: 417,
  type: 'user.deactivated',
  version: 1,
  timestamp: new Date('2026-11-27T08:12:41.312Z'),
  subject: 'ada@acme.test',
  actor: 'admin@acme.test' as string | null,
  data: {},
};

messages('have the form of RFC 5424', () => {
  assert.is(
    messageOf(event, 'steward.acme.test'),
    `<110>1 2026-11-27T08:12:41.312Z steward.acme.test steward - user.deactivated [steward@32473 id="417" type="user.deactivated" subject="ada@acme.test" actor="admin@acme.test"] ${JSON.stringify(event)}`,
  );
});

messages('hold any text: escaped in the structured data, as ASCII in the JSON, within 8,000 bytes', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 400 }),
    fc.string({
      unit: fc.constantFrom('"', '\\', ']', '\n', '\0', ' ', '\u{1f600}', '\ud800', 'é'),
      maxLength: 400,
    }),
    fc.string({ unit: fc.constantFrom('\u{10ffff}', '\u{1f600}'), minLength: 250, maxLength: 400 }),
  );
  const anyEvent = fc.record({
    id: fc.maxSafeNat(),
    subject: text,
    actor: fc.option(text),
    data: fc.dictionary(text, fc.jsonValue()),
  });
  fc.assert(
    fc.property(anyEvent, fc.string({ unit: anyCharacter }), (fields, hostname) => {
      const sent = { ...event, ...fields };
      const frame = frameOf(sent, hostname);
      const {
        messages: [message = ''],
        rest,
      } = readFrames(frame);
      const { parameters, text: json, ...header } = parseSyslog(message);

      assert.is(rest.length, 0);
      assert.ok(Buffer.byteLength(message) <= 8_000);
      assert.is(header.timestamp, event.timestamp.toISOString());
      assert.is(parameters.id, String(fields.id));
      const expected = [...fields.subject.toWellFormed()]
        .slice(0, 320)
        .join('')
        .replaceAll(/\p{Cc}/gu, '\ufffd');
      assert.is(parameters.subject, expected);
      assert.is(parameters.actor === undefined, fields.actor === null);
      assert.match(json, /^[\x20-\x7e]*$/);
      const read = JSON.parse(json);
      if (read.is_truncated) assert.is(read.id, fields.id);
      else assert.equal(read, JSON.parse(JSON.stringify(sent)));
    }),
    { numRuns: 200 },
  );
});

messages('of a large event leave its data out', () => {
  const large = { ...event, data: { members: 'x'.repeat(8_000) } };
  const { text, parameters } = parseSyslog(messageOf(large, 'steward'));

  const { id, type, timestamp } = event;
  assert.is(text, JSON.stringify({ id, type, timestamp, is_truncated: true }));
  assert.is(parameters.subject, event.subject);
});

messages('name every type of event, and warn of failures', () => {
  const warnings: string[] = [];
  for (const type of AUDIT_ACTIONS.map(eventTypeOf)) {
    const { msgId, priority } = parseSyslog(messageOf({ ...event, type }, 'steward'));
    assert.is(msgId, type);
    if (priority === 108) warnings.push(type);
    else assert.is(priority, 110);
  }
  assert.equal(warnings.toSorted(), [
    'domain.lapsed',
    'login.failed',
    'login.sso_failed',
    'mfa.failed',
    'request.refused',
    'webhook.disabled',
  ]);
});

messages.run();
