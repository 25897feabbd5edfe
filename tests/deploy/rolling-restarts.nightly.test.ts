import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { PROXY_NAMES, startProxy } from '../support/proxies.ts';
import { type Service, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { until } from '../support/time.ts';

const RESTARTS = 10;
const WRITERS = 4;
const LOGIN = { username: 'admin@acme.test', password: 'steward-demo-1' };

/** Creates and changes people through the proxy until it is stopped, which returns the statuses and errors that failed. */
const startWriters = (send: ReturnType<typeof createHttpsClient>, token: string) => {
  const failed: string[] = [];
  let [sent, isOver] = [0, false];
  const headers = { authorization: `Token ${token}`, 'content-type': 'application/json' };
  const write = async (): Promise<void> => {
    while (!isOver) {
      sent += 1;
      const isNew = sent % 2 === 0;
      const line = isNew ? 'POST /api/v1/jb/users/' : 'PATCH /api/v1/jb/users/ada@acme.test/';
      const body = JSON.stringify(isNew ? { email: `new${sent}@acme.test` } : { first_name: `Ada ${sent}` });
      const [response] = await Promise.allSettled([send(line, { headers, body })]);
      if (response.status === 'rejected') failed.push(`${line}: ${response.reason}`);
      else if (response.value.status !== 200) failed.push(`${line}: ${response.value.status}`);
    }
  };
  const writers = Promise.all(Array.from({ length: WRITERS }, write));
  return {
    stop: async () => {
      isOver = true;
      await writers;
      return { sent, failed };
    },
  };
};

/** Whether the proxy sends requests to an instance again: they are in its log. */
const untilUsed = ({ output }: Service): Promise<unknown> =>
  until('the proxy uses the instance', () => /"method":"(PATCH|POST)"/.test(output.stdout));

const rolling = suite('restarts of two instances in turn');

for (const name of PROXY_NAMES)
  rolling(`fail no request behind ${name} with the file of deploy/proxy`, async () => {
    await using database = await startExternalDatabase();
    const { settings } = await database.makeDatabase();
    const [http, https, ...services] = await Promise.all(Array.from({ length: 4 }, () => freePort()));
    assert.ok(http !== undefined && https !== undefined);
    const common = {
      ...settings,
      BASE_URL: `https://localhost:${https}`,
      TRUST_PROXY: '1',
      LOG_FORMAT: 'json',
    };
    const start = (command: 'demo' | 'serve', port = 0): Promise<Service> =>
      startService(command, { ...common, PORT: String(port) });
    const running = [await start('demo', services[0]), await start('serve', services[1])];
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(
      async () => void (await Promise.all(running.map((service) => service[Symbol.asyncDispose]()))),
    );
    await using _proxy = await startProxy(name, { http, https, services });
    const send = createHttpsClient(https);
    await until('the proxy reaches an instance', async () => (await send('GET /readyz')).status === 200);
    const logIn = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(LOGIN) };
    const { token } = JSON.parse((await send('POST /api/v1/api-token-auth/', logIn)).body);

    const writers = startWriters(send, token);
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      for (const service of running) await untilUsed(service);
      const index = restart % running.length;
      assert.is((await running[index]?.kill('SIGTERM'))?.code, 0);
      running[index] = await start('serve', services[index]);
    }
    const { sent, failed } = await writers.stop();

    console.log(`# ${sent} requests behind ${name}`);
    assert.equal(failed, []);
  });

rolling.run();
