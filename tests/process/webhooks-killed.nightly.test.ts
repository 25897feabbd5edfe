import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { type Service, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { freePort, startTcpProxy } from '../support/tcp.ts';
import { until } from '../support/time.ts';
import { addMembers } from '../support/users.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures');
const PYTHON = '/usr/bin/python3';
const ROUNDS = 10;
const ROUND_MS = 2_000;
const CHANGES_PER_SECOND = 100;
const PEOPLE = 50;
/** Events that failed several times wait half a minute. */
const PATIENCE_MS = 300_000;

const killed = suite('webhooks of a service and a receiver that are killed');

/** A process that a test kills and starts again. */
const startReceiver = async (settings: { port: number; file: string; secret: string }) => {
  let child: ChildProcess;
  const start = async (): Promise<void> => {
    child = spawn(process.execPath, [join(FIXTURES, 'webhook-receiver.ts'), JSON.stringify(settings)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (child.stdout) await once(child.stdout, 'data');
  };
  const kill = async (): Promise<void> => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  await start();
  return { start, kill, [Symbol.asyncDispose]: kill };
};

/** Changes people at a steady pace until it is stopped, by whichever service answers. Returns how many were acknowledged. */
const startChanges = (services: () => Service[], token: string) => {
  let isStopped = false;
  let acknowledged = 0;
  const inFlight = new Set<Promise<void>>();
  const change = async (n: number): Promise<void> => {
    const service = services()[n % services().length];
    const body = { first_name: `Name ${n}` };
    const response = await service
      ?.send(`PATCH /jb/users/m${(n % PEOPLE) + 1}@many.test/`, { token, body })
      .catch((_killed: unknown) => null);
    if (response?.status === 200) acknowledged += 1;
  };
  const run = async (): Promise<void> => {
    const started = performance.now();
    for (let n = 0; !isStopped; n += 1) {
      const work = change(n).finally(() => inFlight.delete(work));
      inFlight.add(work);
      await pause(Math.max(0, started + ((n + 1) * 1_000) / CHANGES_PER_SECOND - performance.now()));
    }
    await Promise.all(inFlight);
  };
  const running = run();
  return {
    stop: async (): Promise<number> => {
      isStopped = true;
      await running;
      return acknowledged;
    },
  };
};

const createHook = async (
  service: Service,
  token: string,
  url: string,
): Promise<{ id: number; secret: string }> => {
  const body = { url, types: ['user.updated'] };
  const { status, text, json } = await service.send('POST /jb/webhooks/', { token, body });
  assert.is(status, 201, text);
  return json;
};

type Delivery = { isVerified: boolean; headers: Record<string, string>; id: number; subject: string };

const readDeliveries = async (file: string): Promise<Delivery[]> =>
  (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ isVerified, headers, body }) => ({ isVerified, headers, ...JSON.parse(body).data }));

killed(`lose no event of ${CHANGES_PER_SECOND} changes a second, nor their order`, async () => {
  await using database = await startExternalDatabase();
  await using folder = await makeScratchFolder();
  const { settings, connection } = await database.makeDatabase();
  const port = await freePort();
  await using network = await startTcpProxy(port);
  const urlOf = (path: string): string => `http://127.0.0.1:${network.port}/${path}`;
  const serve = (command: 'demo' | 'serve'): Promise<Service> =>
    startService(command, { ...settings, WEBHOOK_PRIVATE_NETWORKS: 'true' });
  const services = [await serve('demo'), await serve('serve')];
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(async () => void (await Promise.all(services.map((service) => service.kill('SIGKILL')))));
  const eye = new Client(connection);
  await eye.connect();
  cleanup.defer(() => eye.end());
  await addMembers(eye, PEOPLE);
  const [first] = services;
  if (!first) return assert.unreachable();
  const { token } = await first.logIn('root@steward.test', 'steward-demo-1');

  const hook = await createHook(first, token, urlOf('hook'));
  const others = {
    gone: await createHook(first, token, urlOf('gone')),
    broken: await createHook(first, token, urlOf('broken')),
    silent: await createHook(first, token, urlOf('silent')),
  };
  const file = folder.join('deliveries');
  await using receiver = await startReceiver({ port, file, secret: hook.secret });

  const changes = startChanges(() => services.filter((service) => service.isRunning()), token);
  for (let round = 0; round < ROUNDS; round += 1) {
    await pause(ROUND_MS / 4);
    const killedAt = round % services.length;
    await services[killedAt]?.kill('SIGKILL');
    await pause(ROUND_MS / 4);
    await receiver.kill();
    services[killedAt] = await serve('serve');
    await receiver.start();
    await pause(ROUND_MS / 4);
    await network.cut(ROUND_MS / 4);
  }
  const acknowledged = await changes.stop();

  const waiting = async (webhook: number): Promise<number> => {
    const { rows } = await eye.query(
      'select count(*)::int as count from webhook_deliveries where webhook_id = $1 and delivered_at is null and failed_at is null',
      [webhook],
    );
    return rows[0].count;
  };
  await until('all events are delivered', async () => (await waiting(hook.id)) === 0, PATIENCE_MS);
  const { rows } = await eye.query(
    `select events.id::int from events join audit_entries on audit_entries.id = events.entry_id
     where action = 'user.update' order by events.id`,
  );
  const events: number[] = rows.map(({ id }) => id);
  const deliveries = await readDeliveries(file);
  const ids = new Set(deliveries.map(({ id }) => id));
  const repeated = deliveries.length - ids.size;
  console.log(
    `\n# ${acknowledged} acknowledged changes, ${events.length} events, ${repeated} repeated deliveries`,
  );

  assert.ok(acknowledged > (ROUNDS * ROUND_MS * CHANGES_PER_SECOND) / 4_000, `${acknowledged} changes`);
  assert.ok(events.length >= acknowledged);
  assert.equal(
    events.filter((id) => !ids.has(id)),
    [],
  );
  assert.ok(deliveries.every(({ isVerified }) => isVerified));
  assert.ok(deliveries.every(({ headers, id }) => headers['webhook-id'] === `evt_${id}`));
  for (const [subject, got] of Map.groupBy(deliveries, (delivery) => delivery.subject)) {
    const order = got.map(({ id }) => id);
    assert.equal(
      order,
      order.toSorted((a, b) => a - b),
      subject,
    );
  }
  const { stdout } = await promisify(execFile)(PYTHON, [
    join(FIXTURES, 'verify-deliveries.py'),
    file,
    hook.secret,
  ]);
  assert.is(stdout.trim(), `${deliveries.length} 0`);

  const { rows: hooks } = await eye.query('select id, is_active from webhooks');
  const isActive = (id: number): boolean => hooks.find((row) => row.id === id).is_active;
  assert.not.ok(isActive(others.gone.id), '410 disables a webhook');
  for (const { id } of [others.broken, others.silent]) {
    assert.ok(isActive(id));
    assert.is(await waiting(id), events.length, 'what fails waits');
  }
});

killed.run();
