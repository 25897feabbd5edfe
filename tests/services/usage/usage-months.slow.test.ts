import { sql } from 'kysely';
import pg from 'pg';
import * as assert from 'uvu/assert';
import { openUnlimitedSession } from '../../../src/db/client.ts';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { dropOldMonths, ensureMonths, maintainUsage } from '../../../src/services/usage/usage-months.ts';
import { rebuildUsage, writeUsage } from '../../../src/services/usage/usage-writes.ts';
import { failureOf } from '../../support/rejects.ts';
import { appSuite, STAFF, type TestApp } from '../../support/test-app.ts';
import { eventually, NOON } from '../../support/time.ts';
import { logEntry, SALES } from '../../support/usage.ts';

const months = appSuite('monthly partitions of usage');

const poolOf = (app: TestApp) => app.orm.pool;
const sessionOf = (app: TestApp, lockTimeoutMs?: number) => (usual: number) =>
  openUnlimitedSession(app.connection, lockTimeoutMs ?? usual);
const care = (app: TestApp, now = NOON, retentionDays = 400) =>
  maintainUsage({ em: app.orm.em.fork(), openSession: sessionOf(app), now, retentionDays });
/** The months of the partitions, such as `2026-11`. */
const monthsOf = async (app: TestApp, table = 'usage_entries'): Promise<string[]> => {
  const { rows } = await sql<{ month: string }>`
    select translate(right(relname, 7), '_', '-') as month from pg_inherits join pg_class on oid = inhrelid
    where inhparent = ${table}::regclass order by 1`.execute(app.db());
  return rows.map(({ month }) => month);
};
const writeAt = (app: TestApp, at: Date) =>
  writeUsage(app.orm.em.fork(), SALES, [{ ...logEntry(0), occurredAt: at }], NOON);

months('exist for two months ahead', async ({ app }) => {
  await care(app);
  assert.equal((await monthsOf(app)).slice(-3), ['2026-11', '2026-12', '2027-01']);
  assert.equal(await monthsOf(app, 'usage_days'), await monthsOf(app));
});

months('are created on demand, once, by concurrent writers', async ({ app }) => {
  const february = new Date('2024-02-29T23:59:59.999Z');
  await Promise.all(Array.from({ length: 10 }, () => writeAt(app, february)));
  await app.orm.em.fork().transactional((tx) => ensureMonths(tx, [new Date('2023-12-31T23:59:59.999Z')]));

  assert.equal((await monthsOf(app)).slice(0, 2), ['2023-12', '2024-02']);
});

months('are created without blocking readers and writers', async ({ app }) => {
  const reader = new pg.Client(app.connection);
  await reader.connect();
  await reader.query('begin');
  await reader.query('select count(*) from usage_entries');
  await reader.query(
    `insert into usage_entries (app_id, email, action, occurred_at) values ($1, 'a', 'X', $2)`,
    [SALES, NOON],
  );

  await app.orm.em.fork().transactional((tx) => ensureMonths(tx, [new Date('2022-01-01T00:00:00Z')]));
  await reader.query('rollback');
  await reader.end();
  assert.is((await monthsOf(app))[0], '2022-01');
});

months('are dropped once they are completely past retention', async ({ app }) => {
  const kept = new Date(NOON.getTime() - 400 * DAY_MS);
  await writeAt(app, kept);
  await care(app);

  assert.is((await monthsOf(app))[0], kept.toISOString().slice(0, 7));
  assert.equal(await monthsOf(app, 'usage_days'), await monthsOf(app));
  const left = await sql<{ count: number }>`
    select count(*)::int as count from pg_class where relname ~ '^usage_(entries|days)_20(22|23|24)'`.execute(
    app.db(),
  );
  assert.is(left.rows[0]?.count, 0);
});

months('leave their rollups when they are dropped, also after a rebuild', async ({ app }) => {
  const before = await app.as(STAFF).usage.series({ app_id: SALES, window: 120 });
  await care(app, NOON, 40);
  assert.is((await monthsOf(app))[0], '2026-10');
  await rebuildUsage(app.orm.em.fork(), SALES, NOON);

  const shown = (await app.as(STAFF).apps.get({ app_id: SALES })).usage;
  assert.equal(await app.as(STAFF).usage.series({ app_id: SALES, window: 120 }), before);
  assert.ok((shown['90']?.users ?? 0) > 0);
});

months('are dropped by one instance at a time, and a drop is completed', async ({ app }) => {
  const pool = await poolOf(app);
  const other = await pool.connect();
  await other.query(`select pg_advisory_lock(hashtextextended('usage retention', 0))`);
  assert.equal(await dropOldMonths(sessionOf(app), NOON, 1), []);
  // As if the instance was killed before it could drop the table.
  await other.query(`comment on table usage_entries_2026_10 is 'A month of usage that Steward is dropping.'`);
  await other.query('alter table usage_entries detach partition usage_entries_2026_10 concurrently');
  await other.query('select pg_advisory_unlock_all()');
  other.release();

  assert.equal(await dropOldMonths(sessionOf(app), NOON, 10), ['usage_entries_2026_10']);
  assert.is((await monthsOf(app))[0], '2026-11');
});

months('are left to the next run if someone reads them for long', async ({ app }) => {
  await app.orm.em.fork().transactional((tx) => ensureMonths(tx, [new Date('2023-03-15T00:00:00Z')]));
  const reader = new pg.Client(app.connection);
  await reader.connect();
  await reader.query('begin');
  await reader.query('select from usage_entries_2023_03');

  const impatient = await failureOf(dropOldMonths(sessionOf(app, 50), NOON, 400));
  assert.instance(impatient, AggregateError);
  assert.match((impatient as AggregateError).errors[0].message, /lock timeout/);
  const signal = AbortSignal.timeout(50);
  await failureOf(dropOldMonths(sessionOf(app), NOON, 400, signal));
  assert.ok(signal.aborted);

  await reader.query('rollback');
  await reader.end();
  const session = sessionOf(app);
  const dropped: string[] = [];
  await eventually(async () => {
    dropped.push(...(await dropOldMonths(session, NOON, 400)));
    assert.ok(dropped.includes('usage_entries_2023_03'));
  });
});

months.run();
