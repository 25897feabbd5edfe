import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { rebuildUsageIn } from '../../src/cli/database-work.ts';
import { dayOf } from '../../src/services/apps/usage-windows.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import { appSuite, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { CHURN, rollupDifferences, SALES } from '../support/usage.ts';

const rebuild = appSuite('steward usage rebuild');

const TODAY = dayOf(NOON);
const spoil = async (app: TestApp): Promise<void> => {
  const app_id = [SALES, CHURN];
  await setRows(app, 'usage_days', { app_id }, { actions: 99 });
  await app.db().deleteFrom('usage_stack_days').where('app_id', 'in', app_id).execute();
};

rebuild('recounts one app only', async ({ app }) => {
  await spoil(app);
  assert.is(await rebuildUsageIn(app, 'sales'), 'Recomputed the usage of 1 app.');

  assert.equal(await rollupDifferences(app, SALES, TODAY), []);
  assert.ok((await rollupDifferences(app, CHURN, TODAY)).length > 0);
});

rebuild('recounts all apps', async ({ app }) => {
  await spoil(app);
  assert.is(await rebuildUsageIn(app), 'Recomputed the usage of 3 apps.');

  for (const id of [SALES, CHURN]) assert.equal(await rollupDifferences(app, id, TODAY), []);
});

rebuild('creates a missing month of the rollups, as after a restore of the log', async ({ app }) => {
  const db = app.db();
  const { rows } = await sql<{ partition: string }>`
    select distinct tableoid::regclass::text as partition from usage_days where app_id = ${SALES}`.execute(
    db,
  );
  for (const { partition } of rows) await sql`drop table ${sql.table(partition)}`.execute(db);

  await rebuildUsageIn(app);

  assert.ok(rows.length > 0);
  for (const id of [SALES, CHURN]) assert.equal(await rollupDifferences(app, id, TODAY), []);
});

rebuild('names an unknown slug', async ({ app }) => {
  await rejectsWith(rebuildUsageIn(app, 'nothing'), 'not-found');
});

rebuild.run();
