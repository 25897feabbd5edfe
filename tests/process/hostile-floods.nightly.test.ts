import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { makeDemoDir } from '../support/demo-data.ts';
import { peakMemoryMb, type Service, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';

const CONNECTIONS = 20;
const PIPELINED_BYTES = 48_000_000;
const FLOOD_MS = 5_000;
const MAX_PEAK_MB = 330;
const MIB = 1024 * 1024;

const INVALID_TOKEN = 'f'.repeat(40);
const GET = `GET /api/v1/jb/users/ HTTP/1.1\r\nhost: x\r\nauthorization: Token ${INVALID_TOKEN}\r\n\r\n`;

/** Opens a connection that never reads. */
const open = async ({ address }: Service): Promise<Socket> => {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname).on('error', () => {});
  await once(socket, 'connect');
  return socket.pause();
};

/** Sends the bytes on each of `count` connections, and keeps them open for a while. */
const flood = async (service: Service, connections: number, bytes: string | Buffer): Promise<void> => {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(service)));
  for (const socket of sockets) socket.write(bytes);
  await sleep(FLOOD_MS);
  for (const socket of sockets) socket.resetAndDestroy();
};

/** Requests `/healthz` until the attack ends, and returns the response times in ms. */
const timeHealth = async ({ send }: Service, attack: Promise<unknown>): Promise<number[]> => {
  let isOver = false;
  const over = attack.finally(() => {
    isOver = true;
  });
  const times: number[] = [];
  while (!isOver) {
    const started = performance.now();
    assert.is((await send('GET !/healthz')).status, 200);
    times.push(performance.now() - started);
    await sleep(20);
  }
  await over;
  return times.sort((a, b) => a - b);
};

// A new service for each attack, so that the memory of one does not count for the next.
const startEach = async (started: AsyncDisposableStack) => {
  const folder = started.use(await makeDemoDir());
  const service = started.use(await startService('demo', { DATA_DIR: folder.path }));
  const { token } = await service.logIn('admin@acme.test', 'steward-demo-1');
  return { service, token };
};
type Context = Awaited<ReturnType<typeof startEach>>;

const floods = suiteWith('a service under a flood of requests', async () => ({}), startEach);

/** The response times of `/healthz` are printed and not asserted, because machines differ. */
const assertServes = async (
  { service, token }: Context,
  attack: Promise<unknown>,
  maxPeakMb = MAX_PEAK_MB,
) => {
  const times = await timeHealth(service, attack);

  const peakMb = peakMemoryMb(service.pid);
  const [p50, p99, most] = [0.5, 0.99, 1].map((part) =>
    Math.round(times[Math.floor((times.length - 1) * part)] ?? 0),
  );
  console.log(`\n# peak ${peakMb ?? 'unknown'} MB; healthz p50 ${p50}, p99 ${p99}, most ${most} ms`);
  assert.ok(service.isRunning());
  assert.ok(peakMb === undefined || peakMb < maxPeakMb, `${peakMb} MB at the peak`);
  assert.is((await service.send('GET /jb/sites/', { token })).status, 200);
};

floods('limits its memory for 48 MB of pipelined requests whose responses are not read', (context) => {
  const requests = GET.repeat(Math.ceil(PIPELINED_BYTES / CONNECTIONS / GET.length));

  return assertServes(context, flood(context.service, CONNECTIONS, requests));
});

/** All but the last byte, so that the body is held for as long as the connection is open. */
const unfinishedUpload = (path: string, length: number): Buffer =>
  Buffer.concat([
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
    ),
    Buffer.alloc(length - 1, ' '),
  ]);

floods('limits its memory for anonymous uploads of 16 MiB to a protected procedure', (context) =>
  assertServes(context, flood(context.service, 30, unfinishedUpload('/trpc/usage.record', 16 * MIB))),
);

/** Of bodies without credentials. */
const HALF_BODY_BYTES = [1_000, 16_000, 60_000];
const LOGIN_LOOPS = 40;
const UNREAD_LISTS = 60;
/** A list of them has 15 MB. */
const USAGE_ENTRIES = 50_000;

const recordUsage = async ({ service, token }: Context, count: number): Promise<void> => {
  const now = Date.now();
  const entry = { email: 'ada@acme.test', action: 'STACK_ACCESS', extra: { stack: 'x'.repeat(200) } };
  const entries = Array.from({ length: 10_000 }, (_, n) => ({
    ...entry,
    timestamp: new Date(now - n * 1000).toISOString(),
  }));
  for (let sent = 0; sent < count; sent += entries.length) {
    const body = entries.map((sample, n) => ({ ...sample, action_description: `${sent + n}` }));
    const { status, text } = await service.send('POST /jb/apps/zylTKNVx/usage/', { token, body });
    assert.ok(status < 300, text);
  }
};

floods('limits its memory for half bodies, logins and unread lists at the same time', async (context) => {
  const { service, token } = context;
  await recordUsage(context, USAGE_ENTRIES);
  const list = `GET /api/v1/jb/apps/zylTKNVx/usage/ HTTP/1.1\r\nhost: x\r\nauthorization: Token ${token}\r\n\r\n`;

  const end = new AbortController();
  /** Half of the loops guess. Not as the user of the token, whose oldest tokens end with more logins. */
  const logIn = async (loop: number): Promise<void> => {
    const body = { username: 'ada@acme.test', password: loop % 2 === 0 ? 'steward-demo-1' : 'wrong' };
    while (!end.signal.aborted) await service.send('POST /api-token-auth/', { body });
  };
  const loops = Array.from({ length: LOGIN_LOOPS }, (_, loop) => logIn(loop));
  const floodAll = Promise.all([
    ...HALF_BODY_BYTES.map((size) => flood(service, 700, unfinishedUpload('/trpc/sessions.create', size))),
    flood(service, UNREAD_LISTS, list),
  ]).finally(() => end.abort());
  await assertServes(context, Promise.all([floodAll, ...loops]), 400);
});

floods.run();
