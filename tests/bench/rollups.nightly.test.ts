import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { fillDatabase } from '../../bench/data/fill.ts';
import { PASSWORD } from '../../bench/data/rows.ts';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { kysely } from '../../src/db/kysely.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestClock } from '../support/time.ts';

type Row = Record<string, unknown>;
type Context = {
  query(text: string): Promise<Row[]>;
  /** GET as root. */
  get<T = Row[]>(path: string): Promise<T>;
  close(): Promise<void>;
};

/** Starts the service on a filled database, at noon after the log ends. */
const startService = async (): Promise<Context> => {
  const database = await createTestDatabase();
  const { connection } = database;
  const until = new Date('2026-11-21T00:00:00Z');
  const plan = { users: 300, apps: 10, clients: 2, entries: 5_000, days: 120, seed: 1, until };
  await fillDatabase(connection, plan);
  const packagesDir = await mkdtemp(join(tmpdir(), 'steward-test-'));
  const config = readConfig({ APP_STORE: `file:${packagesDir}`, LOG_LEVEL: 'silent' });
  const logger = createLogger(config.logLevel);
  const secretKey = 'a secret key that only tests ever use';
  const app = await createApp({ config, connection, secretKey, logger, clock: createTestClock() });

  const url = '/api/v1/api-token-auth/';
  const login = { username: 'root@bench.test', password: PASSWORD };
  const { token } = (await app.server.inject({ method: 'POST', url, payload: login })).json();
  return {
    query: async (text) => (await sql<Row>`${sql.raw(text)}`.execute(kysely(app.orm.em.fork()))).rows,
    get: async (path) => {
      const headers = { authorization: `Token ${token}` };
      return (await app.server.inject({ method: 'GET', url: `/api/v1${path}`, headers })).json();
    },
    close: async () => {
      await app.close();
      await database.drop();
      await rm(packagesDir, { recursive: true, force: true });
    },
  };
};

const rollups = suite<Context>('rollups of bench:data');

rollups.before(async (context) => {
  Object.assign(context, await startService());
});
rollups.after(({ close }) => close());

/** Rows that only one of two queries returns. */
const differences = ({ query }: Context, counted: string, kept: string): Promise<Row[]> =>
  query(`((${counted}) except (${kept})) union all ((${kept}) except (${counted}))`);

rollups('count the actions per person, app and day', async (context) => {
  const counted = `
    select app_id, user_id, (occurred_at at time zone 'UTC')::date, count(*)::int from usage_entries group by 1, 2, 3`;

  assert.equal(
    await differences(context, counted, 'select app_id, user_id, day, actions from usage_days'),
    [],
  );
});

rollups('count the actions per stack and day', async (context) => {
  const counted = `
    select app_id, stack, (occurred_at at time zone 'UTC')::date, count(*)::int from usage_entries
    where stack is not null group by 1, 2, 3`;

  assert.equal(
    await differences(context, counted, 'select app_id, stack, day, actions from usage_stack_days'),
    [],
  );
});

rollups('count per app and day the users who were absent on the days before', async (context) => {
  const histogram = Array.from(
    { length: 90 },
    (_, index) => `(count(*) filter (where before is null or day - before > ${index}))::int`,
  );
  const counted = `
    with days as (
      select app_id, email, (occurred_at at time zone 'UTC')::date as day, count(*) as actions
      from usage_entries group by 1, 2, 3),
    -- Materialized: otherwise each of the 90 counts repeats the lookup.
    absences as materialized (
      select *, (select max(day) from days earlier
        where app_id = days.app_id and email = days.email and day < days.day) as before
      from days)
    select app_id, day, array[${histogram.join(', ')}], sum(actions)::int
    from absences
    group by app_id, day`;
  const kept = 'select app_id, day, retention_histogram, actions from usage_app_days';

  assert.equal(await differences(context, counted, kept), []);
});

rollups('match the windows in the list of apps', async ({ query, get }) => {
  const apps = await get<{ id: string; usage: Row }[]>('/jb/apps/');
  const counted = await query(`
    select app_id, days, count(*)::int as actions, count(distinct email)::int as users
    from usage_entries, generate_series(30, 90, 30) as days
    where occurred_at >= date '2026-11-21' - (days - 1) group by 1, 2`);

  assert.is(apps.length, 10);
  for (const { id, usage } of apps) {
    const windowOf = (length: number) => {
      const found = counted.find(({ app_id, days }) => app_id === id && days === length);
      return { actions: found?.actions ?? 0, users: found?.users ?? 0 };
    };
    assert.equal(usage, { '30': windowOf(30), '60': windowOf(60), '90': windowOf(90) });
  }
});

rollups('match a log that can be read by app and by user', async ({ query, get }) => {
  const [most] = await query(`
    select app_id, email, count(*)::int as entries,
      (select count(*)::int from usage_entries others where others.app_id = entries.app_id) as of_app
    from usage_entries entries group by 1, 2 order by 3 desc limit 1`);

  const ofUser = await get(`/jb/users/${most?.email}/usage/${most?.app_id}/?window=120`);
  const ofApp = await get(`/jb/apps/${most?.app_id}/usage/?window=121`);

  assert.ok(ofUser.length > 1);
  assert.is.not(ofApp.length, ofUser.length);
  assert.is(ofApp.length, most?.of_app);
  assert.equal(Object.keys(ofApp[0] ?? {}), [
    'action_description',
    'email',
    'full_name',
    'timestamp',
    'action',
    'extra',
  ]);
});

rollups.run();
