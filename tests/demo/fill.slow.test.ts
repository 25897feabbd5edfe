import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createPasswordHasher } from '../../src/adapters/hashing/password-hasher.ts';
import { openDatabase } from '../../src/db/database.ts';
import { kysely } from '../../src/db/kysely.ts';
import { fillDemo } from '../../src/demo/fill.ts';
import { PEOPLE } from '../../src/demo/workspace.ts';
import { rebuildUsage } from '../../src/services/usage/usage-writes.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { CHEAP_HASH, DEMO_PASSWORD } from '../support/test-server.ts';

/** A Tuesday. */
const NOW = new Date('2026-11-24T15:00:00.000Z');
const TODAY = '2026-11-24';

const openDemo = async () => {
  const database = await createTestDatabase();
  const orm = await openDatabase(database.connection);
  const hasher = await createPasswordHasher(2, CHEAP_HASH);
  const db = () => kysely(orm.em.fork());
  const fill = () =>
    fillDemo({
      em: orm.em.fork(),
      hasher,
      password: DEMO_PASSWORD,
      port: 8000,
      now: NOW,
      hasOrganization: true,
    });
  const started = performance.now();
  const isFilled = await fill();
  return {
    isFilled,
    fillMs: Math.round(performance.now() - started),
    fill,
    em: () => orm.em.fork(),
    db,
    /** Counts by the text that the expression selects from a table. */
    countBy: async (table: string, text: string): Promise<Record<string, number>> => {
      const { rows } = await sql<{ key: string; count: number }>`
        select (${sql.raw(text)})::text as key, count(*)::int as count from ${sql.table(table)} group by 1 order by 1`.execute(
        db(),
      );
      return Object.fromEntries(rows.map(({ key, count }) => [key, count]));
    },
    close: async (): Promise<void> => {
      await orm.close(true);
      await database.drop();
    },
  };
};

/** Of apps with usage: a rebuild also adds a row of zeros for an app without. */
const windowsOf = (db: Awaited<ReturnType<typeof openDemo>>['db']) =>
  db().selectFrom('usage_windows').selectAll().where('actions90', '>', 0).orderBy('app_id').execute();

const demo = suite<{ demo: Awaited<ReturnType<typeof openDemo>> }>(
  'the demo workspace with its organization',
);

demo.before(async (context) => {
  context.demo = await openDemo();
  console.log(`filled in ${context.demo.fillMs} ms`);
});
demo.after((context) => context.demo.close());

demo('has 150 people in three clients, of whom two belong to two', async ({ demo: { db, countBy } }) => {
  const { count } = await db()
    .selectFrom('users')
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();

  assert.is(Number(count), 150);
  assert.equal(await countBy('memberships', 'client_id'), { 1: 76, 2: 45, 3: 29 });
});

demo('keeps the ids of the core workspace', async ({ demo: { db } }) => {
  const people = await db().selectFrom('users').select('email').orderBy('id').limit(PEOPLE.length).execute();
  const apps = await db().selectFrom('apps').select(['id', 'client_id']).orderBy('created_at').execute();

  assert.equal(
    people.map(({ email }) => email),
    PEOPLE.map(({ email }) => email),
  );
  assert.is(apps.length, 9);
  assert.equal(apps.slice(0, 3), [
    { id: 'zylTKNVx', client_id: 1 },
    { id: 'Qm3vR8pa', client_id: 1 },
    { id: 'Hb7cW2ke', client_id: 2 },
  ]);
});

demo(
  'has people who left, who stopped coming, who are new and who never came',
  async ({ demo: { countBy } }) => {
    const kinds = await countBy(
      'users',
      `case when not is_active then 'left' when last_login is null then 'never came'
      when last_login < '${TODAY}'::date - 30 then 'stopped coming'
      when date_joined > '${TODAY}'::date - 30 then 'new' else 'regular' end`,
    );

    assert.equal(Object.keys(kinds), ['left', 'never came', 'new', 'regular', 'stopped coming']);
    assert.ok(
      Object.values(kinds).every((count) => count >= 5),
      JSON.stringify(kinds),
    );
  },
);

demo('has pending and expired invitations', async ({ demo: { countBy } }) => {
  const statuses = await countBy(
    'invitations',
    `case when status = 'pending' and expires_at < '${NOW.toISOString()}' then 'expired' else status end`,
  );

  assert.equal(statuses, { expired: 3, pending: 8 });
});

demo('has mails that were sent and mails that failed, and none to send', async ({ demo: { countBy } }) => {
  const sent = await countBy('outbox_mails', `case when sent_at is null then 'failed' else 'sent' end`);
  const unfinished = await countBy('outbox_mails', 'sent_at is null and failed_at is null');

  assert.equal(sent, { failed: 2, sent: 9 });
  assert.equal(Object.keys(unfinished), ['false']);
});

demo('has an app without use, and one that is not used since its maintenance', async ({ demo: { db } }) => {
  const { rows } = await sql<{ slug: string; in_maintenance: boolean; unused_days: number | null }>`
    select slug, in_maintenance, (select ${TODAY}::date - max(day) from usage_app_days where app_id = apps.id) as unused_days
    from apps order by slug`.execute(db());

  const { forecast, warehouse, ...used } = Object.fromEntries(rows.map(({ slug, ...app }) => [slug, app]));
  assert.equal(forecast, { in_maintenance: false, unused_days: null });
  assert.is(warehouse?.in_maintenance, true);
  assert.ok(Number(warehouse?.unused_days) > 3);
  for (const [slug, app] of Object.entries(used)) assert.ok(Number(app.unused_days) < 30, slug);
});

demo('has 120 days of usage, with little at weekends', async ({ demo: { countBy } }) => {
  const days = await countBy('usage_entries', `(occurred_at at time zone 'UTC')::date`);
  const byWeekday = await countBy('usage_entries', `extract(isodow from occurred_at at time zone 'UTC')`);

  assert.ok(Object.keys(days).length >= 120);
  const saturday = byWeekday[6] ?? 0;
  for (const weekday of [1, 2, 3, 4, 5]) assert.ok((byWeekday[weekday] ?? 0) > 3 * saturday, String(weekday));
});

demo('has the usage totals that a rebuild computes from the log', async ({ demo: { db, em } }) => {
  const apps = await db().selectFrom('apps').select('id').execute();
  const totals = async () => ({
    windows: await windowsOf(db),
    people: await db()
      .selectFrom('usage_days')
      .selectAll()
      .orderBy('app_id')
      .orderBy('user_id')
      .orderBy('email')
      .orderBy('day')
      .execute(),
    days: await db().selectFrom('usage_app_days').selectAll().orderBy('app_id').orderBy('day').execute(),
    stacks: await db()
      .selectFrom('usage_stack_days')
      .selectAll()
      .orderBy('app_id')
      .orderBy('day')
      .orderBy('stack')
      .execute(),
  });
  const before = await totals();

  for (const { id } of apps) await rebuildUsage(em(), id, NOW);

  const after = await totals();
  for (const kind of ['windows', 'people', 'days', 'stacks'] as const) {
    assert.ok(before[kind].length > 0, kind);
    const differing = before[kind].findIndex((row, index) => !isDeepStrictEqual(row, after[kind][index]));
    assert.is(differing, -1, `${kind}: ${JSON.stringify([before[kind][differing], after[kind][differing]])}`);
    assert.is(after[kind].length, before[kind].length, kind);
  }
});

demo('has no entry of the future in the usage log or the audit trail', async ({ demo: { countBy } }) => {
  for (const table of ['usage_entries', 'audit_entries'])
    assert.equal(Object.keys(await countBy(table, `occurred_at > '${NOW.toISOString()}'`)), ['false'], table);
});

demo('is the same in every database, and filled once', async ({ demo: { isFilled, fill, db } }) => {
  const people = (given: typeof db) =>
    given()
      .selectFrom('users')
      .select(['id', 'email', 'first_name', 'last_name', 'date_joined'])
      .orderBy('id')
      .execute();
  const second = await openDemo();
  try {
    assert.equal(await people(db), await people(second.db));
    assert.equal(await windowsOf(db), await windowsOf(second.db));
  } finally {
    await second.close();
  }

  assert.is(isFilled, true);
  assert.is(await fill(), false);
  assert.is((await people(db)).length, 150);
});

demo.run();
