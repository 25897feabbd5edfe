import { createTRPCClient, httpBatchLink, TRPCClientError } from '@trpc/client';
import superjson from 'superjson';
import * as assert from 'uvu/assert';
import type { AppRouter } from '../../src/client.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { type Service, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { until } from '../support/time.ts';

const PASSWORD = 'steward-demo-1';
const ROOT = 'root@steward.test';

const rpcOf = ({ address }: Service, token: string) =>
  createTRPCClient<AppRouter>({
    links: [
      httpBatchLink({
        url: `${address}/trpc`,
        transformer: superjson,
        headers: { authorization: `Token ${token}` },
      }),
    ],
  });

const outage = suiteWith('a service without its database', async (started) => {
  const database = started.use(await startExternalDatabase());
  const { settings } = await database.makeDatabase();
  const service = started.use(await startService('demo', settings));
  const { token } = await service.logIn(ROOT, PASSWORD);
  await database.stop();
  return { database, service, token };
});

outage('answers 503 with Retry-After to REST requests', async ({ service, token }) => {
  const answers = [
    await service.send('GET /jb/users/', { token }),
    await service.send('POST /jb/users/', { token, body: { email: 'x@acme.test', client: 1, apps: [] } }),
    await service.logIn(ROOT, PASSWORD),
  ];

  for (const { status, headers, text, json } of answers) {
    assert.is(status, 503, text);
    assert.match(headers.get('content-type') ?? '', /^application\/problem\+json/);
    assert.ok(Number(headers.get('retry-after')) > 0);
    assert.is(json.type, 'urn:steward:problem:database-unavailable');
    assert.not.match(text, /ENOENT|ECONN|socket|postgres/i);
  }
});

outage('answers 503 with Retry-After to tRPC calls', async ({ service, token }) => {
  const [call] = await Promise.allSettled([rpcOf(service, token).users.list.query({})]);
  const raw = await service.send('GET !/trpc/sites.list?input=%7B%22json%22%3A%7B%7D%7D', { token });

  assert.is(call.status, 'rejected');
  if (call.status !== 'rejected' || !(call.reason instanceof TRPCClientError)) return assert.unreachable();
  assert.is(call.reason.data?.httpStatus, 503);
  assert.is(call.reason.data?.problem.code, 'database-unavailable');
  assert.is(raw.status, 503, raw.text);
  assert.ok(Number(raw.headers.get('retry-after')) > 0, 'there is a Retry-After header');
});

outage('is alive, but not ready', async ({ service }) => {
  const health = await service.send('GET !/healthz');
  const readiness = await service.send('GET !/readyz');
  const status = await service.send('GET /status/');

  assert.is(health.status, 200);
  assert.is(readiness.status, 503);
  assert.equal([status.status, status.json?.type], [503, 'urn:steward:problem:database-unavailable']);
  assert.ok(service.isRunning());
});

outage('logs one stack, and a sentence for each later failure', async ({ service }) => {
  const entries = service.output.stdout.split('\n').filter((line) => line.includes('"err":'));
  const stacks = entries.filter((line) => line.includes('"stack":'));

  assert.ok(entries.length > 3, service.output.stdout);
  assert.is(stacks.length, 1, stacks.join('\n'));
});

outage('recovers with the database', async ({ database, service, token }) => {
  await database.start();

  await until('it is ready', async () => (await service.send('GET !/readyz')).status === 200);
  const users = await service.send('GET /jb/users/', { token });
  const login = await service.logIn(ROOT, PASSWORD);

  assert.is(users.status, 200);
  assert.is(login.status, 200);
  assert.is((await rpcOf(service, token).users.list.query({})).length > 0, true);
  assert.not.match(service.output.stdout, 'unhandled rejection');
  assert.is(service.output.stderr, '');
});

outage.run();
