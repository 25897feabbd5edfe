import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { PROGRAMS } from '../failover/programs.ts';
import { startWriters } from '../failover/writers.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { extractPreviousVersion, PREVIOUS } from '../support/environment.ts';
import { createRestClient } from '../support/http-clients.ts';
import { type Program, type Service, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { DEMO_PASSWORD, queryOnce } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const READS = [
  'GET /jb/users/',
  'GET /jb/users/ada@acme.test/',
  'GET /jb/apps/',
  'GET /jb/apps/zylTKNVx/usage/?window=30',
  'GET /jb/audit/?limit=10',
];
/** Of `show stat`, after the names of the proxy and the server. */
const STATUS_COLUMN = 15;
const CONFIG = join(import.meta.dirname, '../../deploy/ha/haproxy.cfg');

type Previous = Awaited<ReturnType<typeof extractPreviousVersion>>;

/** Its service for the database is not used: the test has one PostgreSQL server. */
const startProxy = async (port: number, instances: string[], folder: Previous) => {
  const unused = `127.0.0.1:${await freePort()}`;
  const addresses = instances.map((instance, index) => [
    `INSTANCE${index + 1}_ADDRESS`,
    `127.0.0.1:${instance}`,
  ]);
  const [socket, config] = [folder.join('haproxy.sock'), folder.join('haproxy.cfg')];
  await writeFile(config, `global\n  stats socket ${socket} mode 600 level user\n`);
  const child = spawn(PROGRAMS.haproxy, ['-db', '-q', '-f', CONFIG, '-f', config], {
    stdio: 'ignore',
    env: {
      DATABASE_ADDRESS: unused,
      NODE1_ADDRESS: '127.0.0.1:1',
      NODE1_API_PORT: '1',
      NODE2_ADDRESS: '127.0.0.1:1',
      NODE2_API_PORT: '1',
      PUBLIC_ADDRESS: `127.0.0.1:${port}`,
      ...Object.fromEntries(addresses),
    },
  });
  return {
    /** Waits until its checks have found all instances. */
    untilAllUp: () =>
      until('the proxy uses all instances', async () => (await countUp(socket)) === instances.length),
    stop: async (): Promise<void> => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
};

/** How many instances HAProxy sends requests to. */
const countUp = async (path: string): Promise<number> => {
  const socket = connect(path);
  socket.write('show stat\n');
  const rows = (await text(socket).catch(() => '')).split('\n').map((line) => line.split(','));
  return rows.filter(
    ([proxy, server, ...columns]) =>
      proxy === 'steward' && server?.startsWith('instance') && columns[STATUS_COLUMN]?.startsWith('UP'),
  ).length;
};

const prepare = async (closing: AsyncDisposableStack) => {
  const previous = closing.use(await extractPreviousVersion());
  const database = closing.use(await startExternalDatabase());
  const { settings, connection } = await database.makeDatabase();
  const proxyPort = await freePort();
  const shared = {
    ...settings,
    DATA_DIR: previous.join('data'),
    BASE_URL: `http://localhost:${proxyPort}`,
    TRUST_PROXY: '1',
    LOG_LEVEL: 'warn',
    DEMO_PASSWORD,
  };
  const start = async (port: string, program?: Program) =>
    closing.use(await startService('demo', { ...shared, PORT: port }, [], program));
  const ports = [String(await freePort()), String(await freePort())];
  const running: Service[] = [];
  for (const port of ports) running.push(await start(port, previous.program));
  const proxy = await startProxy(proxyPort, ports, previous);
  closing.defer(proxy.stop);
  const client = createRestClient(`http://127.0.0.1:${proxyPort}`);
  const isReady = async () => (await client.send('GET !/readyz').catch(() => null))?.status === 200;
  await until('the proxy reaches an instance', isReady);
  await proxy.untilAllUp();
  const ask = (statement: string) => queryOnce(connection, statement);
  return { previous, ports, start, running, proxy, client, ask };
};
type Context = Awaited<ReturnType<typeof prepare>>;

const rolling = suiteWith(`rolling upgrade from the previous version (${PREVIOUS.name})`, prepare);

/** Reads one path after another. */
const startReader = ({ client }: Context, token: string) => {
  const failures: string[] = [];
  let count = 0;
  let isStopped = false;
  const read = async (): Promise<void> => {
    const line = READS[count % READS.length] ?? '';
    const failure = await client.send(line, { token }).then(
      ({ status, text }) => (status === 200 ? null : `${status} ${text}`),
      (error: unknown) => String(error),
    );
    if (failure !== null) failures.push(`${line}: ${failure}`);
    count += 1;
  };
  const running = (async () => {
    while (!isStopped) await read();
  })();
  return {
    failures,
    count: (): number => count,
    stop: async (): Promise<void> => {
      isStopped = true;
      await running;
    },
  };
};

/** Stops one instance after the other, and starts another version at its address. */
const replaceAll = async ({ ports, running, start, proxy }: Context, program?: Program): Promise<void> => {
  for (const [index, port] of ports.entries()) {
    const ending = await running[index]?.kill('SIGTERM');
    assert.is(ending?.code, 0, ending?.stderr);
    running[index] = await start(port, program);
    await proxy.untilAllUp();
  }
};

for (const [what, programOf] of [
  ['upgrade', () => undefined],
  ['return to the previous version', ({ previous }: Context) => previous.program],
] as const)
  rolling(`no request fails during the ${what}, and no write is lost`, async (context) => {
    const { client, ask } = context;
    const { token } = await client.logIn('root@steward.test', DEMO_PASSWORD);
    const writers = startWriters(client, token, what.split(' ')[0] ?? '');
    const readers = [startReader(context, token), startReader(context, token)];

    await replaceAll(context, programOf(context));
    await Promise.all([writers, ...readers].map(({ stop }) => stop()));
    const reads = readers.reduce((sum, { count }) => sum + count(), 0);
    console.log(
      `\n# ${what}: ${writers.count()} writes and ${reads} reads, of which ${writers.failed()} failed`,
    );

    assert.ok(writers.count() > 100 && reads > 100);
    assert.is(writers.failed(), 0, writers.statuses());
    assert.equal(
      readers.flatMap(({ failures }) => failures),
      [],
    );
    assert.equal(await writers.findLost({ ask }), []);
  });

rolling.run();
