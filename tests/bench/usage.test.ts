import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fillDatabase } from '../../bench/data/fill.ts';
import { BATCH_ENTRIES, makeBatch, makeBodies, stampBatch } from '../../bench/usage/batches.ts';
import { cpuSeconds, residentMb, serverCpuSeconds, watchingMemory } from '../../bench/usage/processes.ts';
import { differencesOf } from '../../bench/usage/recount.ts';
import { createTestDatabase } from '../support/test-database.ts';

type Context = { database: Client; appId: string; close(): Promise<void> };

/** A process that says when it is there, and holds 100 MB when it is told to. */
const HOLDER = `console.log('there');
  process.stdin.once('data', () => console.log((globalThis.held = Buffer.alloc(100e6, 'x')).length))`;

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

usage('finds rollups to be what the log says', async ({ database, appId }) => {
  assert.equal(await differencesOf(database, appId), []);
});

for (const [table, change] of [
  ['usage_days', 'actions = actions + 1'],
  ['usage_stack_days', 'actions = actions + 1'],
  ['usage_app_days', 'retention_histogram[30] = retention_histogram[30] + 1'],
  ['usage_windows', 'users90 = users90 + 1'],
] as const) {
  usage(`notices what is wrong in ${table}`, async ({ database, appId }) => {
    await database.query('begin');
    await database.query(`update ${table} set ${change} where app_id = $1`, [appId]);
    const wrong = await differencesOf(database, appId);
    await database.query('rollback');

    assert.equal(wrong, [table]);
  });
}

usage('stamps a batch with times that end now, and changes nothing else', async ({ database, appId }) => {
  const [text = ''] = await makeBodies(database, appId);
  const now = Date.parse('2026-11-21T12:00:00.123Z');
  const batch = makeBatch(text);

  stampBatch(batch, now - 1_000);
  stampBatch(batch, now);
  const [before, after] = [JSON.parse(text), JSON.parse(batch.body.toString())];
  const times = after.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp));

  assert.is(after.length, BATCH_ENTRIES);
  assert.is(new Set(times).size, BATCH_ENTRIES);
  assert.is(Math.max(...times), now);
  assert.is(times.at(-1), now);
  for (const entries of [before, after]) for (const entry of entries) delete entry.timestamp;
  assert.equal(after, before);
});

// The measurements themselves are for Linux.
if (existsSync('/proc/self/stat')) {
  usage('tells the processor time and the memory of a process', async () => {
    const before = await cpuSeconds(process.pid);
    const until = performance.now() + 200;
    while (performance.now() < until);

    const grown = (await cpuSeconds(process.pid)) - before;
    assert.ok(grown >= 0.05 && grown <= 0.5, `200 ms of work took ${grown} s`);
    assert.ok((await serverCpuSeconds(process.pid)) >= before + grown);
    const heldMb = process.memoryUsage.rss() / 1e6;
    assert.ok(Math.abs((await residentMb(process.pid)) / heldMb - 1) < 0.2);
  });

  usage('tells how much more memory a process held while it worked', async () => {
    // Its own: that of the tests gives back, meanwhile, what others have left.
    const child = spawn(process.execPath, ['-e', HOLDER], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(child.stdout, 'data');
      const { result, growthMb } = await watchingMemory(child.pid ?? 0, async () => {
        child.stdin.write('go');
        return String(await once(child.stdout, 'data'));
      });

      assert.is(result, '100000000\n');
      assert.ok(growthMb > 80, `${growthMb} MB`);
    } finally {
      child.kill();
    }
  });
}

usage.run();
