import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AUTHORITY, CLIENT, SERVER } from '../support/certificates.ts';
import { makeDemoDir } from '../support/demo-data.ts';
import { makeScratchFolder, writeFiles } from '../support/files.ts';
import { type Service, startService } from '../support/service-process.ts';
import { freePort } from '../support/tcp.ts';
import { until } from '../support/time.ts';

const ADMIN = 'root@steward.test';
const PASSWORD = 'steward-demo-1';
const PATIENCE_MS = 180_000;

const rsyslog = suite('events to rsyslog over TLS');

type Received = { id: number; type: string };

const eventsIn = async (path: string): Promise<Received[]> =>
  (await readFile(path, 'utf8').catch(() => ''))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line.slice(line.indexOf('] ') + 2)));

rsyslog('are complete after stops and kills of either side beside running changes', async () => {
  await using folder = await makeDemoDir();
  await using server = await makeRsyslog();
  const settings = { DATA_DIR: folder.path, PORT: String(await freePort()), ...server.settings };
  await server.start();
  let service: Service = await startService('demo', settings);
  try {
    const { token } = await service.logIn(ADMIN, PASSWORD);
    let isRunning = true;
    let changes = 0;
    const change = async (): Promise<void> => {
      while (isRunning) {
        const body = { first_name: `Ada ${changes}` };
        const response = await service
          .send('PATCH /jb/users/ada@acme.test/', { token, body })
          .catch(() => null);
        if (response?.status === 200) changes += 1;
        await sleep(10);
      }
    };
    const changing = change();
    const restartServer = async (signal: NodeJS.Signals): Promise<void> => {
      await server.end(signal);
      await sleep(500);
      await server.start();
    };
    const restartService = async (signal: NodeJS.Signals): Promise<void> => {
      await service.kill(signal);
      service = await startService('demo', settings);
    };

    // At all moments of a batch, which takes 2.5 s.
    for (const wait of [300, 700, 1_100, 1_600, 2_100, 2_700]) {
      await sleep(2_000 + wait);
      await restartServer('SIGKILL');
    }
    await sleep(2_000);
    await restartServer('SIGTERM');
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
      await sleep(3_300);
      await restartService(signal);
    }
    // It stops reading, and is killed with what its kernel has taken.
    server.signal('SIGSTOP');
    await sleep(4_000);
    await restartServer('SIGKILL');
    isRunning = false;
    await changing;

    const expected: Received[] = [];
    for (let cursor = 0, page: Received[] = []; ; cursor = page.at(-1)?.id ?? cursor) {
      page = (await service.send(`GET /jb/events/?limit=1000&cursor=${cursor}`, { token })).json;
      if (page.length === 0) break;
      expected.push(...page);
    }
    const last = expected.at(-1)?.id;
    await until(
      'the last event has arrived',
      async () => (await eventsIn(server.output)).some(({ id }) => id === last),
      PATIENCE_MS,
    );
    const received = await eventsIn(server.output);
    const unique = new Map(received.map((event) => [event.id, event]));

    assert.equal(
      [...unique.keys()].toSorted((a, b) => a - b),
      expected.map(({ id }) => id),
    );
    for (const event of expected) assert.equal(unique.get(event.id), event);
    assert.ok(changes > 100, `${changes} changes`);
    console.log(
      `# ${changes} changes, ${expected.length} events, ${received.length - unique.size} duplicates`,
    );
  } finally {
    await service.kill('SIGKILL');
  }
});

/**
 * Debian's rsyslog with TLS, which requires a client certificate, and otherwise with its defaults: its queue is in memory. It appends the text
 * of each message to `output`.
 */
const makeRsyslog = async () => {
  const folder = await makeScratchFolder();
  const port = await freePort();
  const output = folder.join('messages');
  await writeFiles(folder.path, {
    'ca.pem': AUTHORITY,
    'server.pem': SERVER.certificate,
    'server.key': SERVER.key,
    'client.pem': CLIENT.certificate,
    'client.key': CLIENT.key,
    'rsyslog.conf': `
global(workDirectory="${folder.path}" DefaultNetstreamDriver="gtls"
  DefaultNetstreamDriverCAFile="${folder.join('ca.pem')}"
  DefaultNetstreamDriverCertFile="${folder.join('server.pem')}"
  DefaultNetstreamDriverKeyFile="${folder.join('server.key')}")
module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="x509/certvalid")
template(name="text" type="string" string="%structured-data% %msg%\\n")
input(type="imtcp" port="${port}" address="127.0.0.1" ruleset="steward")
ruleset(name="steward") { action(type="omfile" file="${output}" template="text") }
`,
  });
  let child: ChildProcess | undefined;

  const answers = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };

  return {
    output,
    settings: {
      EVENT_SYSLOG_URL: `syslog+tls://localhost:${port}`,
      EVENT_CA_FILE: folder.join('ca.pem'),
      EVENT_CERTIFICATE_FILE: folder.join('client.pem'),
      EVENT_KEY_FILE: folder.join('client.key'),
    },
    start: async (): Promise<void> => {
      const args = ['-n', '-f', folder.join('rsyslog.conf'), '-i', folder.join('pid')];
      child = spawn('rsyslogd', args, { stdio: 'ignore' });
      await until('rsyslog listens', answers);
    },
    /** Sends a signal, and waits for the end. */
    end,
    signal: (signal: NodeJS.Signals): void => void child?.kill(signal),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await end('SIGKILL');
      await folder[Symbol.asyncDispose]();
    },
  };
};

rsyslog.run();
