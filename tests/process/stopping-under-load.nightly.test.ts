import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { makeDemoDir } from '../support/demo-data.ts';
import { type Service, serverProcesses, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { until } from '../support/time.ts';

const CONNECTIONS = 32;
const WARM_UP_REQUESTS = 500;

type Folder = Awaited<ReturnType<typeof makeDemoDir>>;
const stopping = suiteWith(
  'a service that is stopped under load',
  async () => ({}),
  async (started) => ({ folder: started.use(await makeDemoDir()) }),
);

/** Sends requests over keep-alive connections, each after the response to the last, until the service refuses connections. */
const startLoad = ({ address }: Service, token: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, timeout: 0 });
  const seen = { answered: 0, statuses: new Set<number>(), failures: new Map<string, number>() };
  const ask = async (): Promise<string> => {
    const outgoing = get(`${address}/api/v1/jb/sites/`, {
      agent,
      headers: { authorization: `Token ${token}` },
    });
    const [response] = await once(outgoing, 'response');
    await text(response);
    seen.answered += 1;
    seen.statuses.add(response.statusCode);
    return '';
  };
  const askUntilRefused = async (): Promise<void> => {
    for (;;) {
      const failure = await ask().catch((error: Error & { code?: string }) => error.code ?? error.message);
      if (failure === 'ECONNREFUSED') return;
      if (failure !== '') seen.failures.set(failure, (seen.failures.get(failure) ?? 0) + 1);
    }
  };
  const ended = Promise.all(Array.from({ length: CONNECTIONS }, askUntilRefused)).finally(() =>
    agent.destroy(),
  );
  return { seen, ended };
};

/** The statuses of `/readyz` until the service refuses connections. */
const watchReadiness = async ({ address }: Service): Promise<Set<string>> => {
  const seen = new Set<string>();
  for (;;) {
    const outgoing = get(`${address}/readyz`, { agent: false });
    const answer = await once(outgoing, 'response').catch(() => null);
    if (answer === null) return seen;
    const [response] = answer;
    seen.add(
      `${response.statusCode} ${response.headers.connection} ${JSON.parse(await text(response)).type ?? ''}`,
    );
  }
};

const start = (folder: Folder, workers: number) =>
  startService('demo', { DATA_DIR: folder.path, WORKERS: String(workers), LOG_LEVEL: 'info' });

/** Puts a service under load, stops it, and asserts that every request got its response. */
const stopUnderLoad = async (service: Service): Promise<void> => {
  const { token } = await service.logIn('root@steward.test', 'steward-demo-1');
  const { seen, ended } = startLoad(service, token);
  await until('the load is running', () => seen.answered > WARM_UP_REQUESTS);

  const [{ code, stderr }, readiness] = await Promise.all([
    service.kill('SIGTERM'),
    watchReadiness(service),
    ended,
  ]);

  console.log(`${seen.answered} requests`);
  assert.equal([...seen.failures], []);
  assert.equal([...seen.statuses], [200]);
  assert.is(code, 0);
  assert.is(stderr, '');
  assert.ok(readiness.has('503 close urn:steward:problem:stopping'), [...readiness].join());
};

/** A service with two workers that both listen. */
const startBoth = async (folder: Folder): Promise<Service> => {
  const service = await start(folder, 2);
  const { output } = service;
  await until('both workers listen', () => output.stdout.split('"msg":"Server listening').length > 2);
  return service;
};

for (const [what, begin] of [
  ['one process', (folder) => start(folder, 1)],
  ['two workers', startBoth],
  ['a second worker that is still starting', (folder) => start(folder, 2)],
] as [string, (folder: Folder) => Promise<Service>][])
  stopping(`resets no connection of keep-alive clients, with ${what}`, async ({ folder }) => {
    await using service = await begin(folder);
    await stopUnderLoad(service);

    assert.equal(await serverProcesses(folder.path), []);
  });

stopping.run();
