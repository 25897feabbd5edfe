import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { openUnlimitedSession } from '../../src/db/client.ts';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { dayOf, refreshStaleWindows } from '../../src/services/apps/usage-windows.ts';
import { readOperationalState } from '../../src/services/operational-state.ts';
import { maintainUsage } from '../../src/services/usage/usage-months.ts';
import { rebuildUsage, writeUsage } from '../../src/services/usage/usage-writes.ts';
import { emptyOutbox, invite, outboxOf } from '../support/mails.ts';
import { appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { CHURN, logEntry, rollupDifferences, SALES } from '../support/usage.ts';

const AHEAD = new Date(NOON.getTime() + 40 * DAY_MS);
const clock = appSuite('after the clock was 40 days ahead');

const stateOf = (app: TestApp) => readOperationalState(app.orm.em.fork(), NOON);
const windowsOf = async (app: TestApp): Promise<string[]> => {
  const { rows } = await sql<{ day: string }>`select day::text from usage_windows order by app_id`.execute(
    app.db(),
  );
  return rows.map(({ day }) => day);
};
const setAhead = (app: TestApp) => refreshStaleWindows(app.orm.em.fork(), [SALES, CHURN], AHEAD);
const recoveries: Record<string, (app: TestApp) => Promise<unknown>> = {
  'a reader of the app': (app) => app.as(ROOT).apps.get({ app_id: SALES }),
  'a reader of all apps': (app) => app.send('GET /jb/apps/', { as: ROOT }),
  'a new entry': (app) => writeUsage(app.orm.em.fork(), SALES, [logEntry(0)], NOON),
  'a rebuild': (app) => rebuildUsage(app.orm.em.fork(), SALES, NOON),
  'the hourly maintenance': (app) =>
    maintainUsage({
      em: app.orm.em.fork(),
      openSession: () => openUnlimitedSession(app.connection),
      now: NOON,
      retentionDays: 400,
    }),
};

for (const [what, recover] of Object.entries(recoveries))
  clock(`usage windows move back to the current day with ${what}`, async ({ app }) => {
    await setAhead(app);
    assert.is((await stateOf(app)).futureTimes, 2);
    await recover(app);

    assert.equal(await rollupDifferences(app, SALES, dayOf(NOON)), []);
  });

clock('usage windows of the next day stay, because another instance is past midnight', async ({ app }) => {
  const tomorrow = new Date(NOON.getTime() + DAY_MS);
  await refreshStaleWindows(app.orm.em.fork(), [SALES, CHURN], tomorrow);
  await refreshStaleWindows(app.orm.em.fork(), [SALES, CHURN], NOON);

  const days = await windowsOf(app);
  assert.is(days.filter((day) => day === dayOf(tomorrow)).length, 2);
  assert.is((await stateOf(app)).futureTimes, 0);
});

clock('mails that were enqueued and attempted then are sent now, also with a rate limit', async ({ app }) => {
  await emptyOutbox(app);
  const outbox = outboxOf(app, { perMinute: 2 });
  app.clock.advance(40 * DAY_MS);
  await invite(app, 2);
  await outbox.claim(2);
  app.clock.advance(-40 * DAY_MS);
  const state = await stateOf(app);
  const due = await outbox.msUntilDue();
  await outbox.prune({ isSent: true });

  assert.equal([state.futureTimes, state.oldestUnsentMailSeconds], [2, 0]);
  assert.ok((due ?? 0) > DAY_MS);
  assert.is((await stateOf(app)).futureTimes, 0);
  assert.is((await outbox.claim(2)).mails.length, 2);
});

clock('mails that were sent then do not count for the rate limit', async ({ app }) => {
  await emptyOutbox(app);
  const outbox = outboxOf(app, { perMinute: 1 });
  app.clock.advance(40 * DAY_MS);
  await invite(app, 1);
  const [sent] = (await outbox.claim(1)).mails;
  if (sent) await outbox.recordDelivery(sent, { outcome: 'taken' });
  app.clock.advance(-40 * DAY_MS);
  await invite(app, 1);

  assert.is(await outbox.msUntilDue(), 0);
  assert.is((await outbox.claim(1)).mails.length, 1);
});

clock('a backup that was made then does not count, and has no negative age', async ({ app }) => {
  const insert = (startedAt: Date) =>
    app
      .db()
      .insertInto('backups')
      .values({
        target: 'x',
        name: `${startedAt.getTime()}.tar`,
        started_at: startedAt,
        finished_at: startedAt,
        size_bytes: 1,
      })
      .execute();
  await insert(new Date(NOON.getTime() - DAY_MS));
  await insert(AHEAD);
  const wrong = await stateOf(app);
  await insert(new Date(NOON.getTime() + MINUTE_MS));
  const right = await stateOf(app);

  assert.equal([wrong.backupAgeSeconds, wrong.futureTimes], [DAY_MS / 1000, 1]);
  assert.equal([right.backupAgeSeconds, right.futureTimes], [0, 0]);
});

clock.run();
