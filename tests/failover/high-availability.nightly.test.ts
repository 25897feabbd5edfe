import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { createRestClient } from '../support/http-clients.ts';
import { suiteWith } from '../support/suite.ts';
import { DEMO_PASSWORD, ROOT } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { type Cluster, type Part, startCluster } from './cluster.ts';
import { startWriters, type Writers } from './writers.ts';

const ROUNDS = 4;
const ROLLING_RESTARTS = 3;
const INSTANCES = ['steward1', 'steward2'] as const;
/** What a service manager waits before it starts a part again. */
const RESTART_DELAY_MS = 1_000;
const RECOVERY_TIMEOUT_MS = 60_000;
/** After writes succeed again, to see that they keep succeeding. */
const SETTLE_MS = 3_000;

const settings = { DEMO_PASSWORD, LOG_LEVEL: 'warn' };

const isReady = (cluster: Cluster, instance: (typeof INSTANCES)[number]): Promise<boolean> =>
  fetch(`${cluster.addressOf(instance)}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );

const availability = suiteWith('high availability', async (started) => {
  const cluster = started.use(await startCluster());
  for (const instance of INSTANCES) {
    cluster.start(instance, settings);
    await until(`${instance} is ready`, () => isReady(cluster, instance), RECOVERY_TIMEOUT_MS);
  }
  const { token } = await createRestClient(cluster.address).logIn(ROOT, DEMO_PASSWORD);
  return { cluster, token };
});

/** How each part fails, and what brings it back once writes succeed again. */
const failures: Record<string, (cluster: Cluster, round: number) => Promise<() => Promise<void>>> = {
  'PostgreSQL of the primary': async (cluster) => {
    await cluster.killServer(await cluster.leader());
    return async () => {};
  },
  'the host of the primary': async (cluster) => {
    const primary = await cluster.leader();
    await cluster.killNode(primary);
    return async () => cluster.start(primary);
  },
  'a member of etcd': (cluster, round) => crash(cluster, `etcd${(round % 3) + 1}` as Part), // etcd1 to etcd3
  'an instance of Steward': (cluster, round) => crash(cluster, INSTANCES[round % 2] ?? 'steward1'),
  HAProxy: (cluster) => crash(cluster, 'haproxy'),
};

/** Kills a part, which its service manager starts again. */
const crash = async (cluster: Cluster, part: Part): Promise<() => Promise<void>> => {
  await cluster.stop(part, 'SIGKILL');
  const restarted = sleep(RESTART_DELAY_MS).then(() => cluster.start(part, settings));
  return () => restarted;
};

const awaitHealthy = async (cluster: Cluster): Promise<void> => {
  await cluster.awaitWhole();
  for (const instance of INSTANCES)
    await until(`${instance} is ready`, () => isReady(cluster, instance), RECOVERY_TIMEOUT_MS);
};

/** @returns milliseconds without an acknowledged write */
const measureFailure = async (cluster: Cluster, writers: Writers, kind: string, round: number) => {
  await awaitHealthy(cluster);
  const before = performance.now();
  await until('writes succeed', () => writers.firstSuccessSince(before) !== undefined, RECOVERY_TIMEOUT_MS);

  const failedAt = performance.now();
  const recover = await failures[kind]?.(cluster, round);
  const killedAt = performance.now();
  await until(
    'writes succeed again',
    () => writers.firstSuccessSince(killedAt) !== undefined,
    RECOVERY_TIMEOUT_MS,
  );
  await recover?.();
  await sleep(SETTLE_MS);
  return Math.round(writers.longestGapSince(failedAt));
};

availability(
  'no acknowledged write is lost and no request fails with 500, whichever part is killed',
  async (context) => {
    const { cluster, token } = context;
    const writers = startWriters(createRestClient(cluster.address), token, 'kills');
    for (const kind of Object.keys(failures)) {
      const gaps: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1)
        gaps.push(await measureFailure(cluster, writers, kind, round));
      console.log(`\n# ${kind} is killed: ${gaps.join(', ')} ms without a write`);
    }
    await writers.stop();
    await cluster.awaitWhole();
    console.log(`\n# ${writers.count()} writes; responses: ${writers.statuses()} (0: no response)`);

    assert.ok(writers.count() > 1_000, `${writers.count()} writes`);
    assert.equal(await writers.findLost(cluster), []);
    assert.equal(
      writers.unexpected.filter((line) => / 500 /.test(line)),
      [],
    );
  },
);

availability('no request fails while the instances are restarted in turn', async ({ cluster, token }) => {
  await awaitHealthy(cluster);
  const writers = startWriters(createRestClient(cluster.address), token, 'rolling');
  for (let round = 0; round < ROLLING_RESTARTS; round += 1) {
    for (const instance of INSTANCES) {
      await cluster.stop(instance, 'SIGTERM');
      cluster.start(instance, settings);
      await until(`${instance} is ready`, () => isReady(cluster, instance), RECOVERY_TIMEOUT_MS);
      await sleep(RESTART_DELAY_MS);
    }
  }
  await writers.stop();
  console.log(`\n# rolling restarts: ${writers.statuses()}`);

  assert.equal(writers.failed(), 0);
  assert.equal(writers.unexpected, []);
  assert.equal(await writers.findLost(cluster), []);
});

availability.run();
