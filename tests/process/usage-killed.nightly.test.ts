import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { openDatabase } from '../../src/db/database.ts';
import { kysely } from '../../src/db/kysely.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { errorCodeOf } from '../../src/lib/errno.ts';
import { dayOf } from '../../src/services/apps/usage-windows.ts';
import { makeDemoDir } from '../support/demo-data.ts';
import { type Service, serverProcesses, startService } from '../support/service-process.ts';
import { until } from '../support/time.ts';
import { CHURN, rollupDifferences, SALES } from '../support/usage.ts';

const KILLS = 10;
const BATCH = 40;
/** Batches acknowledged between two kills, so that ingestion is running at each of them. */
const BETWEEN_KILLS = 6;
const PASSWORD = 'steward-demo-1';

type Writing = { service: Service; token: string; acknowledged: Set<string>; isOver: boolean };

/** A batch is identified by its action; repeats are detected by entry ids or an idempotency key. */
const newBatch = (byId: boolean) => {
  const name = randomUUID().replaceAll('-', '').toUpperCase();
  const body = Array.from({ length: BATCH }, (_, n) => ({
    ...(byId && { id: `${name}-${n}` }),
    email: `u${n % 7}@x.test`,
    action: `B_${name}`,
    timestamp: new Date(Date.now() - ((n * 13) % 70) * DAY_MS),
    extra: { stack: n % 2 ? 'a0a91e46' : 'b1b82f57' },
  }));
  return { action: `B_${name}`, body, headers: byId ? {} : { 'idempotency-key': name } };
};

/** Sends each batch until a service acknowledges it. */
const write = async (writing: Writing, appId: string, byId: boolean): Promise<void> => {
  while (!writing.isOver) {
    const { action, body, headers } = newBatch(byId);
    while (!writing.acknowledged.has(action)) {
      const { service, token } = writing;
      const answer = await service
        .send(`POST /jb/apps/${appId}/usage/`, { token, body, headers })
        .catch((_gone: unknown) => null);
      if (answer?.status === 201) writing.acknowledged.add(action);
      else if (answer !== null) assert.is(answer.status, 503, answer.text);
      else await until('another service is up', () => writing.isOver || writing.service !== service, 60_000);
    }
  }
};

/** The first process is the postmaster; killing it ends the others. */
const end = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (errorCodeOf(error) !== 'ESRCH') throw error;
  }
};

/** The number of copies of each batch in the log, and the incorrect rollups. */
const inspect = async (dataDir: string) => {
  const { connection, stop } = await startEmbeddedPostgres({ dataDir });
  const orm = await openDatabase(connection);
  const db = () => kysely(orm.em.fork());
  const rows = await db()
    .selectFrom('usage_entries')
    .select(['action', ({ fn }) => fn.countAll<number>().as('count')])
    .where('action', 'like', 'B\\_%')
    .groupBy('action')
    .execute();
  const faults = [];
  for (const appId of [SALES, CHURN])
    faults.push(...(await rollupDifferences({ db }, appId, dayOf(new Date()))));
  await orm.close(true);
  await stop();
  return { counts: new Map(rows.map(({ action, count }) => [action, count])), faults };
};

const killed = suite('usage ingestion with kills');

killed('stores every acknowledged entry once, with correct rollups, after ten kills', async () => {
  await using folder = await makeDemoDir();
  const settings = { DATA_DIR: folder.path };
  let service = await startService('demo', settings);
  const { token } = await service.logIn('staff@steward.test', PASSWORD);
  const writing: Writing = { service, token, acknowledged: new Set(), isOver: false };
  const writers = Promise.all([
    write(writing, SALES, true),
    write(writing, SALES, false),
    write(writing, CHURN, true),
    write(writing, CHURN, false),
  ]);

  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = writing.acknowledged.size;
    await until(
      'batches are acknowledged',
      () => writing.acknowledged.size >= before + BETWEEN_KILLS,
      60_000,
    );
    if (kill % 2 === 0) await service.kill('SIGKILL');
    else {
      for (const pid of await serverProcesses(folder.path)) end(pid);
      // The service exits without its embedded database.
      assert.is((await service.ended).code, 1);
    }
    service = await startService('serve', settings);
    writing.service = service;
  }
  const before = writing.acknowledged.size;
  await until('the last service acknowledges', () => writing.acknowledged.size > before + 4, 60_000);
  writing.isOver = true;
  await writers;
  await service.kill('SIGTERM');
  const { counts, faults } = await inspect(folder.path);

  assert.equal(
    [...writing.acknowledged].filter((action) => counts.get(action) !== BATCH),
    [],
  );
  assert.equal(
    [...counts].filter(([, count]) => count !== BATCH),
    [],
  );
  assert.equal(faults, []);
  console.log(`${writing.acknowledged.size} batches of ${BATCH} acknowledged over ${KILLS} kills`);
});

killed.run();
