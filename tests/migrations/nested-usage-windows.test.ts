import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { migrateDatabase } from '../../src/db/database.ts';
import { dayOf } from '../../src/services/usage/usage-windows.ts';
import { appSuite } from '../support/app-suite.ts';
import { rollupFaults } from '../support/recount.ts';
import { ROOT } from '../support/test-app.ts';
import { NOON } from '../support/test-clock.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const migration = appSuite('migration to nested usage windows');

const NAME = '0017-nested-usage-windows';

migration('makes the windows of existing usage equal to a recount', async ({ app }) => {
  const run = (statement: string) => sql.raw(statement).execute(app.db());
  // The database as the migration before left it: days that look back 30 days, windows that do not overlap.
  await run('alter table usage_app_days drop constraint usage_app_days_retention_histogram_check');
  await run('update usage_app_days set retention_histogram = retention_histogram[1:30]');
  await run(
    'alter table usage_app_days add constraint usage_app_days_retention_histogram_check check (cardinality(retention_histogram) = 30)',
  );
  await run(
    'update usage_windows set actions60 = actions60 - actions30, users60 = 1, actions90 = 2, users90 = 3',
  );
  await run(`insert into usage_app_days (app_id, day, actions, retention_histogram)
    values ('${SALES}', '2020-01-01', 5, array_fill(2, array[30]))`);
  await run(`delete from mikro_orm_migrations where name = '${NAME}'`);

  assert.ok((await migrateDatabase(app.connection)).includes(NAME));

  const old = await run(
    `delete from usage_app_days where day = '2020-01-01' returning retention_histogram = array_fill(2, array[90]) as is_kept`,
  );
  assert.equal(old.rows, [{ is_kept: true }]);
  await app.as(ROOT).apps.list({});
  for (const id of [SALES, CHURN, FLEET]) assert.equal(await rollupFaults(app, id, dayOf(NOON)), []);
});

migration.run();
