import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeDemoDir } from '../support/demo-data.ts';
import { makeRsyslog } from '../support/rsyslog.ts';
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

rsyslog.run();
