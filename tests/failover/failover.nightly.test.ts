import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { type Service, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { DEMO_PASSWORD, ROOT } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { startWriters, type Writers } from './writers.ts';

const KILLS = 5;
const MAX_RECOVERY_MS = 3_000;
const RECOVERY_TIMEOUT_MS = 30_000;
const SECRET_KEY = 'a secret key that only tests ever use';

/** A service that reaches the cluster in one way, and its clients. */
type Way = { name: string; service: Service; writers: Writers; recoveries: number[] };
type Context = { cluster: Cluster; ways: Way[]; closing: AsyncDisposableStack };

const failover = suite<Context>('failover');

failover.before(async (context) => {
  const closing = new AsyncDisposableStack();
  context.closing = closing;
  context.ways = [];
  context.cluster = closing.use(await startCluster());
  const folder = closing.use(await makeScratchFolder());
  for (const [name, DATABASE_URL] of Object.entries(context.cluster.urls)) {
    const group = `way${context.ways.length + 1}`;
    const settings = { DATABASE_URL, SECRET_KEY, DATA_DIR: folder.join('data'), DEMO_PASSWORD };
    const service = closing.use(await startService('demo', settings));
    const { token } = await service.logIn(ROOT, DEMO_PASSWORD);
    context.ways.push({ name, service, writers: startWriters(service, token, group), recoveries: [] });
  }
});
failover.after(({ closing }) => closing.disposeAsync());

failover('the primary is killed five times under load', async ({ cluster, ways }) => {
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await cluster.awaitWhole();
    const startedAt = performance.now();
    for (const { name, writers } of ways)
      await until(`writes succeed ${name}`, () => writers.firstSuccessSince(startedAt) !== undefined);

    const primary = await cluster.leader();
    await cluster.killNode(primary);
    await cluster.awaitPromotion(primary);
    const writableAt = performance.now();
    for (const { name, writers, recoveries } of ways) {
      const success = () => writers.firstSuccessSince(writableAt);
      await until(`writes succeed again ${name}`, () => success() !== undefined, RECOVERY_TIMEOUT_MS);
      recoveries.push(Math.max(0, (success() ?? Number.NaN) - writableAt));
    }
    cluster.start(primary);
  }
  await Promise.all(ways.map(({ writers }) => writers.stop()));
  for (const { name, writers, recoveries } of ways) {
    const times = recoveries.map((ms) => Math.round(ms)).join(', ');
    console.log(`\n# ${name}: writes succeed after ${times} ms; answers: ${writers.statuses()}`);
  }
});

failover('no acknowledged write is lost', async ({ cluster, ways }) => {
  for (const { name, writers } of ways) {
    assert.ok(writers.count() > 100, `${writers.count()} writes ${name}`);
    assert.equal(await writers.findLost(cluster), [], name);
  }
});

failover('every answer is a success or 503', ({ ways }) => {
  for (const { name, writers } of ways) assert.equal(writers.unexpected, [], name);
});

failover('writes succeed within 3 s of the new primary', ({ ways }) => {
  for (const { name, recoveries } of ways)
    for (const ms of recoveries) assert.ok(ms < MAX_RECOVERY_MS, `${Math.round(ms)} ms ${name}`);
});

failover.run();
