import pg from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createUsageWriteLimiter } from '../../../src/services/usage/usage-recording.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { ADA, appSuite, EDSGER, STAFF } from '../../support/test-app.ts';
import { until } from '../../support/time.ts';
import { CHURN, SALES } from '../../support/usage.ts';

const writers = suite('createUsageWriteLimiter');

/** Work that runs until the test ends it, and counts how much is running. */
const createWork = () => {
  const ends: (() => void)[] = [];
  return {
    begun: ends,
    begin: () => new Promise<void>((resolve) => ends.push(resolve)),
    endAll: () => {
      for (const end of ends.splice(0)) end();
    },
  };
};

writers('runs one writer per app and four in total, and all of them eventually', async () => {
  const { within } = createUsageWriteLimiter();
  const work = createWork();
  const apps = ['a', 'a', 'a', 'b', 'c', 'd', 'e'];
  const all = Promise.all(apps.map((app) => within(app, 1, work.begin)));
  await until('four are in', () => work.begun.length === 4);
  for (let ended = 0; ended < apps.length; ) {
    ended += work.begun.length;
    work.endAll();
    if (ended < apps.length) await until('others come in', () => work.begun.length > 0);
  }
  await all;
});

writers('refuses writers when the queue is full, but never a single one', async () => {
  const { within } = createUsageWriteLimiter();
  const work = createWork();
  const large = within('a', 1_000_000, work.begin);

  await rejectsWith(within('b', 1, work.begin), 'overloaded');
  await until('it is in', () => work.begun.length === 1);
  work.endAll();
  await large;
  const next = within('b', 1, work.begin);
  await until('the next is in', () => work.begun.length === 1);
  work.endAll();
  await next;
});

writers.run();

const busy = appSuite('an app with running writes or a recount');

busy('does not block other apps', async ({ app }) => {
  const rebuild = new pg.Client(app.connection);
  await rebuild.connect();
  await rebuild.query('begin');
  await rebuild.query(`select pg_advisory_xact_lock(hashtextextended('usage of ${SALES}', 0))`);
  const entries = [{ email: ADA, action: 'X' }];
  const waiting = Array.from({ length: 30 }, () => app.as(STAFF).usage.record({ app_id: SALES, entries }));

  await app.as(STAFF).usage.record({ app_id: CHURN, entries });
  assert.is((await app.send('GET /jb/apps/', { as: EDSGER })).statusCode, 200);
  await rebuild.query('rollback');
  await rebuild.end();
  for (const answer of await Promise.all(waiting)) assert.equal(answer, { inserted: 1, duplicates: 0 });
});

busy.run();
