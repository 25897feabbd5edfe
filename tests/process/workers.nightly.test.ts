import { setMaxListeners } from 'node:events';
import { connect } from 'node:net';
import * as assert from 'uvu/assert';
import { makeDemoDir } from '../support/demo-data.ts';
import { makeScratchFolder } from '../support/files.ts';
import {
  runCommand,
  type Service,
  serverProcesses,
  startService,
  workerProcesses,
} from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { until } from '../support/time.ts';

const WORKERS = 2;
type Folder = Awaited<ReturnType<typeof makeScratchFolder>>;

const workers = suiteWith('WORKERS', async (started) => {
  setMaxListeners(50);
  return { folder: started.use(await makeDemoDir()) };
});

const start = async ({ path }: Folder): Promise<Service> =>
  startService('demo', { DATA_DIR: path, WORKERS: String(WORKERS), LOG_LEVEL: 'info' });

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (_noSuchProcess) {
    return false;
  }
};

/** The workers that have responded, according to the log. */
const answering = ({ output }: Service): Set<number> =>
  new Set(
    [...output.stdout.matchAll(/"worker":(\d+).*"msg":"request completed"/g)].map(([, number]) =>
      Number(number),
    ),
  );

/** Uses a new connection for each request, because workers share connections and not requests. */
const ask = (service: Service): Promise<Response> =>
  fetch(`${service.address}/healthz`, { headers: { connection: 'close' } });

const allServe = (service: Service): Promise<void> =>
  until('all workers serve', async () => {
    assert.is((await ask(service)).status, 200);
    return answering(service).size === WORKERS;
  });

const isPortFree = ({ address }: Service): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname, () => resolve(false)).on('error', () => resolve(true));
    socket.on('close', () => socket.destroy());
  });

workers('serve on one port, log their number, and all end with SIGTERM', async ({ folder }) => {
  await using service = await start(folder);
  await allServe(service);
  const pids = await workerProcesses(service);
  const { token } = await service.logIn('admin@acme.test', 'steward-demo-1');
  const lists = await Promise.all(
    Array.from({ length: 20 }, () => service.send('GET /jb/users/', { token })),
  );

  const { code, stdout, stderr } = await service.kill('SIGTERM');

  assert.is(pids.length, WORKERS);
  for (const { status } of lists) assert.is(status, 200);
  assert.is(code, 0, stderr);
  assert.is(stderr, '');
  assert.is(stdout.match(/"msg":"Steward listens on /g)?.length, 1);
  assert.not.match(stdout, 'starting a replacement');
  assert.equal(pids.filter(isAlive), []);
  assert.equal(await serverProcesses(folder.path), []);
  assert.ok(await isPortFree(service));
});

workers('are restarted after a kill, while the others keep running', async ({ folder }) => {
  await using service = await start(folder);
  await allServe(service);
  const [killed = 0, other] = await workerProcesses(service);

  process.kill(killed, 'SIGKILL');
  await until('it has ended', () => service.output.stdout.includes('starting a replacement'));
  for (let count = 0; count < 20; count += 1) assert.is((await ask(service)).status, 200);
  await until('another is there', async () => (await workerProcesses(service)).length === WORKERS);
  const pids = await workerProcesses(service);
  const { code } = await service.kill('SIGTERM');

  assert.is(code, 0);
  assert.ok(other !== undefined && pids.includes(other) && !pids.includes(killed));
  assert.equal(pids.filter(isAlive), []);
});

workers('end together with the database when the first process is killed', async ({ folder }) => {
  await using service = await start(folder);
  await allServe(service);
  const pids = await workerProcesses(service);

  await service.kill('SIGKILL');

  await until('all have ended', () => !pids.some(isAlive));
  await until('the database has ended', async () => (await serverProcesses(folder.path)).length === 0);
  assert.ok(await isPortFree(service));
});

workers('end the service if they cannot start, with one error message', async () => {
  await using scratch = await makeScratchFolder();
  const { code, stdout, stderr } = await runCommand(['serve'], {
    DATA_DIR: scratch.path,
    WORKERS: String(WORKERS),
    // Without TLS, the first process does not connect, so that each worker fails.
    DATABASE_URL: 'postgres://u:hidden@127.0.0.1:1/x?sslmode=disable',
    SECRET_KEY: 'a secret key that only tests ever use',
  });

  assert.is(code, 1);
  assert.match(stderr, /^DATABASE_URL: the database cannot be used \(.+\)\.\n$/);
  assert.match(stdout, /^\{.*"msg":"Stopping: no worker can start"\}\n$/);
});

workers.run();
