import fc from 'fast-check';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { dayOf, refreshStaleWindows } from '../../../src/services/apps/usage-windows.ts';
import { rebuildUsage, type UsageEntryInput, writeUsage } from '../../../src/services/usage/usage-writes.ts';
import { setRows } from '../../support/rows.ts';
import { appSuite, type TestApp } from '../../support/test-app.ts';
import { NOON, until } from '../../support/time.ts';
import { CHURN, FLEET, logEntry, rollupDifferences, SALES } from '../../support/usage.ts';

const rollups = appSuite('rollups of usage');

const TODAY = dayOf(NOON);
const write = (app: TestApp, appId: string, entries: UsageEntryInput[], now = NOON) =>
  writeUsage(app.orm.em.fork(), appId, entries, now);

rollups('are correct for the demo workspace', async ({ app }) => {
  for (const id of [SALES, CHURN, FLEET]) assert.equal(await rollupDifferences(app, id, TODAY), []);
});

rollups('differ from a recount after a manual change', async ({ app }) => {
  await setRows(app, 'usage_windows', { app_id: SALES }, { users30: 99 });
  await setRows(app, 'usage_app_days', { app_id: SALES }, { actions: 99 });
  assert.ok((await rollupDifferences(app, SALES, TODAY)).length > 2);

  await rebuildUsage(app.orm.em.fork(), SALES, NOON);
  assert.equal(await rollupDifferences(app, SALES, TODAY), []);
});

rollups('stay equal to a recount for entries in any order', async ({ app }) => {
  const person = fc.constantFrom('p@x.test', 'q@x.test', 'r@x.test');
  // Both close together, where absences overlap, and far apart.
  const daysAgo = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 20, max: 130 }));
  const stack = fc.constantFrom(null, 'a0a91e46', 'gone');
  const entry = fc.tuple(daysAgo, person, stack).map((parts) => logEntry(...parts));
  const batches = fc.array(fc.array(entry, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 6 });

  await fc.assert(
    fc.asyncProperty(batches, async (given) => {
      await app.db().deleteFrom('usage_entries').where('app_id', '=', FLEET).execute();
      for (const table of ['usage_days', 'usage_app_days', 'usage_stack_days', 'usage_windows'] as const) {
        await app.db().deleteFrom(table).where('app_id', '=', FLEET).execute();
      }
      for (const batch of given) await write(app, FLEET, batch);
      assert.equal(await rollupDifferences(app, FLEET, TODAY), []);
    }),
    { numRuns: 60 },
  );
});

rollups('stay correct with concurrent writers of one app, also in new months', async ({ app }) => {
  const batches = Array.from({ length: 8 }, (_, n) =>
    Array.from({ length: 50 }, (_, k) => logEntry((n * 50 + k) % 300, `u${k % 7}@x.test`)),
  );

  await Promise.all(batches.map((batch, n) => write(app, n % 2 ? CHURN : SALES, batch)));

  for (const id of [SALES, CHURN]) assert.equal(await rollupDifferences(app, id, TODAY), []);
});

rollups('are the same after a rebuild during writes', async ({ app }) => {
  const writing = Array.from({ length: 10 }, (_, n) =>
    write(app, SALES, [logEntry(n, `n${n}@x.test`), logEntry(n + 40, `n${n}@x.test`)]),
  );
  await Promise.all([...writing, rebuildUsage(app.orm.em.fork(), SALES, NOON)]);

  assert.equal(await rollupDifferences(app, SALES, TODAY), []);
});

rollups('advance their windows at the start of a day, by the first instance', async ({ app }) => {
  const at = (days: number) => new Date(NOON.getTime() + days * DAY_MS);
  for (const days of [1, 2, 29, 60, 89]) {
    await Promise.all([
      refreshStaleWindows(app.orm.em.fork(), [SALES, CHURN], at(days)),
      write(app, SALES, [{ ...logEntry(0), occurredAt: at(days) }], at(days)),
      // An instance with a slow clock: its entries count for the later day.
      write(app, SALES, [logEntry(3, 'late@x.test')], at(days - 1)),
    ]);
    for (const id of [SALES, CHURN]) assert.equal(await rollupDifferences(app, id, dayOf(at(days))), []);
  }
  const window = app.db().selectFrom('usage_windows').select('day').where('app_id', '=', CHURN);
  assert.is((await window.executeTakeFirst())?.day, dayOf(at(89)));
});

rollups('start a new day only after running writes', async ({ app }) => {
  const tomorrow = new Date(NOON.getTime() + 90 * DAY_MS);
  let forward: Promise<void> | undefined;
  await app.orm.em.fork().transactional(async (tx) => {
    await writeUsage(tx, CHURN, [{ ...logEntry(0, 'straddles@x.test'), occurredAt: tomorrow }], NOON);
    forward = refreshStaleWindows(app.orm.em.fork(), [CHURN], tomorrow);
    await until('it waits', async () => {
      const { rows } = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`.execute(
        app.db(),
      );
      return rows.length > 0;
    });
  });
  await forward;

  assert.equal(await rollupDifferences(app, CHURN, dayOf(tomorrow)), []);
});

rollups.run();
