import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { DatabaseNotEmpty, fillDatabase } from '../../bench/data/fill.ts';
import { InvalidPlan, type Plan } from '../../bench/data/rows.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const PLAN: Plan = {
  users: 300,
  apps: 10,
  clients: 3,
  entries: 5_000,
  days: 100,
  seed: 1,
  until: new Date('2026-11-21T00:00:00Z'),
};

type Row = Record<string, unknown>;
type Filled = TestDatabase & { query(text: string): Promise<Row[]>; close(): Promise<void> };

const openEmpty = async (): Promise<Filled> => {
  const database = await createTestDatabase();
  const client = new Client({ ...database.connection, options: '-c TimeZone=UTC' });
  await client.connect();
  return {
    ...database,
    query: async (text) => (await client.query<Row>(text)).rows,
    close: () => client.end().then(database.drop),
  };
};

/** All tables except the migrations table and partitions, which are read through their parent. */
const TABLES = `
  select relname as name from pg_class
  where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
    and relname <> 'mikro_orm_migrations' order by 1`;

/** An MD5 of the text of all rows for each table. */
const digestsOf = async ({ query }: Filled): Promise<Row> => {
  const digests: Row = {};
  for (const { name } of await query(TABLES)) {
    const [row] = await query(
      `select md5(string_agg(rows::text, ' ' order by rows::text collate "C")) as digest from ${name} rows`,
    );
    digests[String(name)] = row?.digest;
  }
  return digests;
};

const data = suite<{ filled: Filled }>('bench:data');

data.before(async (context) => {
  context.filled = await openEmpty();
  await fillDatabase(context.filled.connection, PLAN);
});
data.after(({ filled }) => filled.close());

data('generates the same rows for the same plan, and other rows for another seed', async ({ filled }) => {
  const [again, other] = [await openEmpty(), await openEmpty()];
  try {
    await fillDatabase(again.connection, PLAN);
    await fillDatabase(other.connection, { ...PLAN, seed: 2 });
    const digests = await digestsOf(filled);

    assert.equal(await digestsOf(again), digests);
    const others = await digestsOf(other);
    for (const name of ['users', 'apps', 'app_grants', 'usage_entries', 'usage_windows']) {
      assert.ok(digests[name], `${name} has rows`);
      assert.is.not(others[name], digests[name], `${name} has other rows`);
    }
  } finally {
    await again.close();
    await other.close();
  }
});

data('generates the planned numbers of rows', async ({ filled: { query } }) => {
  const [counts] = await query(`
    select (select count(*)::int from users) as users, (select count(*)::int from apps) as apps,
      (select count(*)::int from clients) as clients, (select count(*)::int from sites) as sites,
      (select count(*)::int from usage_entries) as entries,
      (select count(*)::int from usage_entries where occurred_at >= '2026-11-21' or occurred_at < '2026-08-13') as outside`);

  assert.equal(counts, {
    users: 300,
    apps: 10,
    clients: 3,
    sites: 3,
    entries: 5_000,
    outside: 0,
  });
});

data('violates no foreign key', async ({ filled: { query } }) => {
  const keys = await query(`
    select conrelid::regclass::text as child, confrelid::regclass::text as parent,
      (select attname from pg_attribute where attrelid = conrelid and attnum = conkey[1]) as "column",
      (select attname from pg_attribute where attrelid = confrelid and attnum = confkey[1]) as key
    from pg_constraint where contype = 'f'`);

  assert.ok(keys.length > 20);
  for (const { child, parent, column, key } of keys) {
    const orphans = await query(`
      select from ${child} as child where "${column}" is not null
        and not exists (select from ${parent} as parent where parent."${key}" = child."${column}")`);
    assert.is(orphans.length, 0, `${child}.${column}`);
  }
});

data(
  'creates log entries only of users with access to the app, with their names',
  async ({ filled: { query } }) => {
    const strays = await query(`
    select from usage_entries entries where not exists (
      select from app_grants grants
      join users on users.id = grants.user_id
      join memberships on memberships.user_id = users.id
      join apps on apps.id = grants.app_id and apps.client_id = memberships.client_id
      where users.email = entries.email and grants.app_id = entries.app_id
        and first_name || ' ' || last_name = entries.full_name
        and (entries.stack is null or exists (
          select from stacks where stacks.id = entries.stack and stacks.app_id = apps.id)))`);
    const unlike = await query(`
    select from usage_entries where (extra ->> 'stack') is distinct from stack or extra ->> 'app_id' <> app_id
      or (select count(*) from json_object_keys(extra -> 'request' -> 'META')) <> 10`);

    assert.is(strays.length, 0);
    assert.is(unlike.length, 0);
  },
);

data('sets sequences after the highest id', async ({ filled: { query } }) => {
  for (const [table, count] of [
    ['users', 300],
    ['sites', 3],
    ['clients', 3],
    ['usage_entries', 5_000],
  ] as const) {
    const [next] = await query(`select nextval(pg_get_serial_sequence('${table}', 'id'))::int as id`);
    assert.is(next?.id, count + 1, table);
  }
});

data('refuses a database that is not empty, and changes nothing', async ({ filled }) => {
  const before = await digestsOf(filled);

  const outcome = await fillDatabase(filled.connection, { ...PLAN, seed: 3 }).catch(
    (error: unknown) => error,
  );

  assert.instance(outcome, DatabaseNotEmpty);
  assert.equal(await digestsOf(filled), before);
});

for (const [plan, sentence] of [
  [{ clients: 11 }, 'There cannot be'],
  [{ users: 29 }, 'ten users'],
  [{ until: new Date('2026-11-21T00:00:01Z') }, 'midnight'],
] as const) {
  data(`refuses ${JSON.stringify(plan)}`, async ({ filled }) => {
    const outcome = await fillDatabase(filled.connection, { ...PLAN, ...plan }).catch(
      (error: unknown) => error,
    );

    assert.instance(outcome, InvalidPlan);
    assert.match(String(outcome), new RegExp(sentence, 'i'));
  });
}

data.run();
