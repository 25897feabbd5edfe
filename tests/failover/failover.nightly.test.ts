import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { DEMO_PASSWORD, ROOT } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { startCluster } from './cluster.ts';
import { startWriters } from './writers.ts';

const KILLS = 5;
const MAX_RECOVERY_MS = 3_000;
const RECOVERY_TIMEOUT_MS = 30_000;
const SECRET_KEY = 'a secret key that only tests ever use';

const failover = suiteWith('failover', async (started) => {
  const cluster = started.use(await startCluster());
  const folder = started.use(await makeScratchFolder());
  const settings = { DATABASE_URL: cluster.url, SECRET_KEY, DATA_DIR: folder.join('data'), DEMO_PASSWORD };
  const service = started.use(await startService('demo', settings));
  const { token } = await service.logIn(ROOT, DEMO_PASSWORD);
  const recoveries: number[] = [];
  return { cluster, writers: startWriters(service, token, 'failover'), recoveries };
});

failover('the primary is killed five times under load', async ({ cluster, writers, recoveries }) => {
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await cluster.awaitWhole();
    const startedAt = performance.now();
    await until('writes succeed', () => writers.firstSuccessSince(startedAt) !== undefined);

    const primary = await cluster.leader();
    await cluster.killNode(primary);
    await cluster.awaitPromotion(primary);
    const writableAt = performance.now();
    const success = () => writers.firstSuccessSince(writableAt);
    await until('writes succeed again', () => success() !== undefined, RECOVERY_TIMEOUT_MS);
    recoveries.push(Math.round((success() ?? Number.NaN) - writableAt));
    cluster.start(primary);
  }
  await writers.stop();
  console.log(`\n# writes succeed after ${recoveries.join(', ')} ms; answers: ${writers.statuses()}`);
});

failover('no acknowledged write is lost', async ({ cluster, writers }) => {
  assert.ok(writers.count() > 100, `${writers.count()} writes`);
  assert.equal(await writers.findLost(cluster), []);
});

failover('every answer is a success or 503', ({ writers }) => {
  assert.equal(writers.unexpected, []);
});

failover('writes succeed within 3 s of the new primary', ({ recoveries }) => {
  for (const ms of recoveries) assert.ok(ms < MAX_RECOVERY_MS, `${ms} ms`);
});

failover.run();
