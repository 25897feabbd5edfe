import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { fillDatabase } from '../../bench/data/fill.ts';
import { cpuSeconds, measureCosts, residentMb, serverCpuSeconds } from '../../bench/processes.ts';
import {
  BATCH_ENTRIES,
  createBodies,
  fillTimestamps,
  hasCorrectRollups,
} from '../../bench/usage/ingestion.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase } from '../support/test-database.ts';

type Context = { database: Client; appId: string; close(): Promise<void> };

/** Prints when it has started, and allocates 100 MB on input. */
const ALLOCATE_ON_INPUT = `console.log('ready');
  process.stdin.once('data', () => console.log((globalThis.buffer = Buffer.alloc(100e6, 'x')).length))`;

const usage = suite<Context>('bench:usage');

usage.before(async (context) => {
  const { connection, drop } = await createTestDatabase();
  const until = new Date('2026-11-21T00:00:00Z');
  const plan = { users: 100, apps: 3, clients: 1, entries: 3_000, hotEntries: 0, days: 95, seed: 1, until };
  await fillDatabase(connection, plan);
  const database = new Client({ ...connection, options: '-c TimeZone=UTC' });
  await database.connect();
  const { rows } = await database.query<{ id: string }>(`select id from apps where slug = 'app-002'`);
  context.database = database;
  context.appId = rows[0]?.id ?? '';
  context.close = () => database.end().then(drop);
});
usage.after(({ close }) => close());

usage('accepts rollups that match the log', async ({ database, appId }) => {
  assert.is(await hasCorrectRollups(database, appId), true);
});

for (const table of ['usage_days', 'usage_app_days']) {
  usage(`notices wrong counts in ${table}`, async ({ database, appId }) => {
    await database.query('begin');
    await database.query(`update ${table} set actions = actions + 1 where app_id = $1`, [appId]);
    const isCorrect = await hasCorrectRollups(database, appId);
    await database.query('rollback');

    assert.is(isCorrect, false);
  });
}

usage(
  'fills the timestamps of a batch, ending now, and changes nothing else',
  async ({ database, appId }) => {
    const [body = ''] = await createBodies(database, appId);
    const now = Date.parse('2026-11-21T12:00:00.123Z');

    const [before, after] = [JSON.parse(body), JSON.parse(fillTimestamps(body, now))];
    const times = after.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp));

    assert.is(after.length, BATCH_ENTRIES);
    assert.is(new Set(times).size, BATCH_ENTRIES);
    assert.is(Math.max(...times), now);
    assert.is(times.at(-1), now);
    for (const entries of [before, after]) for (const entry of entries) delete entry.timestamp;
    assert.equal(after, before);
  },
);

// /proc exists only on Linux.
if (existsSync('/proc/self/stat')) {
  usage('reads CPU time and memory of a process', async () => {
    const before = await cpuSeconds(process.pid);
    const until = performance.now() + 200;
    while (performance.now() < until);

    const used = (await cpuSeconds(process.pid)) - before;
    assert.ok(used >= 0.05 && used <= 0.5, `200 ms of work took ${used} s`);
    assert.ok((await serverCpuSeconds(process.pid)) >= before + used);
    const ownMb = process.memoryUsage.rss() / 1e6;
    assert.ok(Math.abs((await residentMb(process.pid)) / ownMb - 1) < 0.2);
  });

  usage('measures CPU time and peak memory of a process while it works', async () => {
    const child = spawn(process.execPath, ['-e', ALLOCATE_ON_INPUT], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(child.stdout, 'data');
      const { result, costs } = await measureCosts([child.pid ?? 0], null, async () => {
        child.stdin.write('go');
        return String(await once(child.stdout, 'data'));
      });

      assert.is(result, '100000000\n');
      assert.ok(costs.peakMb - costs.initialMb > 80, JSON.stringify(costs));
      assert.ok(Number.isNaN(costs.postgresSeconds));
    } finally {
      child.kill();
    }
  });
}

usage.run();
