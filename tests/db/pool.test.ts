import { MikroORM } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type pg from 'pg';
import * as assert from 'uvu/assert';
import { ormConfig } from '../../mikro-orm.config.ts';
import { kysely } from '../../src/db/kysely.ts';
import { createPool, type DatabasePool } from '../../src/db/pool.ts';
import { Problem } from '../../src/lib/problems.ts';
import { createTimeLimit } from '../../src/lib/time-limit.ts';
import { rejectsWith } from '../support/rejects.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/time.ts';
import { withStoppedTimers } from '../support/timers.ts';

const SLOTS = 3;
/** A query that has time, also in a pool whose queries have little. */
const PATIENT = { text: 'select 2 as two', query_timeout: 60_000 };

type Context = { database: TestDatabase; pool: DatabasePool };
const pools = suite<Context>('connection pool');

pools.before(async (context) => {
  context.database = await createTestDatabase('empty');
});
pools.before.each((context) => {
  context.pool = createPool({ ...context.database.connection, poolSize: SLOTS });
});
pools.after.each(({ pool }) => pool.end());
pools.after(({ database }) => database.drop());

/** Whether every connection is in the pool or not made. */
const isFree = (pool: pg.Pool): boolean => pool.idleCount === pool.totalCount && pool.waitingCount === 0;

pools('sends application_name and options, but keeps dates in UTC', async ({ database }) => {
  const session = { applicationName: 'console', startupOptions: '-c work_mem=7MB -c TimeZone=Asia/Tokyo' };
  const pool = createPool({ ...database.connection, ...session });

  const names = ['application_name', 'work_mem', 'TimeZone', 'idle_in_transaction_session_timeout'];
  const values = await pool.query('select current_setting(n) as value from unnest($1::text[]) n', [names]);
  await pool.end();

  assert.equal(
    values.rows.map(({ value }) => value),
    ['console', '7MB', 'UTC', '15s'],
  );
});

pools('is free again after transactions whose callers had gone before they began', async ({ pool }) => {
  const orm = await MikroORM.init(ormConfig(pool));
  const holders = await Promise.all(Array.from({ length: SLOTS }, () => pool.connect()));
  const late = Array.from({ length: 10 }, () => {
    const limit = createTimeLimit(1);
    const work = orm.em
      .fork()
      .transactional(async (tx) => {
        await sql`select 1`.execute(kysely(tx));
        limit.requireTime();
      })
      .catch((error: unknown) => error);
    return { answer: limit.run(() => work), work };
  });
  for (const { answer } of late) await rejectsWith(answer, 'overloaded');
  for (const client of holders) client.release();

  const ends = await Promise.all(late.map(({ work }) => work));

  assert.ok(ends.every((end) => end instanceof Error));
  await until('all connections are free', () => isFree(pool));
  const open = `select from pg_stat_activity where datname = current_database() and state like 'idle in%'`;
  assert.is((await pool.query(open)).rowCount, 0);
});

pools('is free again after a statement that the server does not answer in time', async ({ database }) => {
  const pool = createPool({ ...database.connection, poolSize: 1 }, 200);
  const orm = await MikroORM.init(ormConfig(pool));
  const sleeping = orm.em
    .fork()
    .transactional((tx) => sql`select pg_sleep(60)`.execute(kysely(tx)))
    .catch((error: unknown) => error);

  assert.match(String(await sleeping), /timeout/);
  assert.is((await pool.query(PATIENT)).rows[0]?.two, 2);
  await until('it is free', () => isFree(pool));
  await pool.end();
});

pools('fails what waits too long for a connection, and gives its turn to the next', async ({ database }) => {
  const connectTimeoutMs = 60_000;
  const pool = createPool({ ...database.connection, poolSize: 1, connectTimeoutMs });
  const held = await pool.connect();
  const late = await withStoppedTimers((advance) => {
    const failed = pool.query('select 1').catch((error: unknown) => error);
    advance(connectTimeoutMs);
    return failed;
  });
  const waiting = pool.query('select 2 as two');
  held.release();

  assert.match(String(late), /timeout exceeded when trying to connect/);
  assert.is((await waiting).rows[0]?.two, 2);
  await pool.end();
});

pools('is stuck while all connections are taken and none is used', async ({ pool }) => {
  assert.not(pool.isStuck(0), 'without any connection');
  const lost = await Promise.all(Array.from({ length: SLOTS }, () => pool.connect()));
  const inAMinute = performance.now() + 60_000;
  assert.ok(pool.isStuck(undefined, inAMinute));
  assert.not(pool.isStuck(undefined, inAMinute - 60_000), 'a minute has not passed');

  await lost[0]?.query('select 1');
  assert.not(pool.isStuck(undefined, inAMinute), 'one was used');
  for (const client of lost) client.release();
  assert.not(pool.isStuck(0));
});

pools('knows an outage after its first failure, until it has a new connection', async ({ pool }) => {
  const refused = Object.assign(new Error('the database system is shutting down'), { code: '57P03' });
  const bug = Object.assign(new Error('no such column'), { code: '42703' });

  const during = [refused, bug, new Error('cannot list users', { cause: refused })].map((error) =>
    pool.isRepeatedOutage(error),
  );
  during.push(pool.isRepeatedOutage(new Problem('database-unavailable')));
  await pool.query('select 1');

  assert.equal(during, [false, false, true, true]);
  assert.not(pool.isRepeatedOutage(refused));
});

pools.run();
