import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { fieldOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const maintenance = appSuite('maintenance of an app');

const inMinutes = (app: TestApp, minutes: number): Date =>
  new Date(app.clock.now().getTime() + minutes * MINUTE_MS);

const update = (app: TestApp, changes: object) => app.as(ACME).apps.update({ app_id: SALES, ...changes });

const timesOf = async (app: TestApp) => {
  const status = await app.as(ADA).apps.status({ app_id: SALES });
  return [status.in_maintenance, status.maintenance_from, status.maintenance_until];
};

maintenance.after.each(async ({ app }) => {
  await update(app, { in_maintenance: false, maintenance_from: null });
});

maintenance('begins and ends at its planned times, everywhere', async ({ app }) => {
  const [from, until] = [inMinutes(app, 60), inMinutes(app, 120)];
  const plan = { maintenance_from: from, maintenance_until: until, maintenance_message: 'Back soon.' };
  const planned = await update(app, plan);
  const seen = async () => {
    const { is_closed } = await app.as(ROOT).apps.previewRemoval({ app_id: SALES });
    const listed = await app.as(ADA).apps.list({ in_maintenance: true });
    const { apps } = await app.as(ACME).access.matrix({ id: 1 });
    const { blockers } = await app.as(ACME).access.explain({ app_id: SALES, email: ADA });
    const { maintenance_message: message } = await app.as(ADA).apps.status({ app_id: SALES });
    return [
      is_closed,
      listed.length === 1,
      apps.find(({ id }) => id === SALES)?.in_maintenance,
      fieldOf(blockers, 'code').includes('in-maintenance'),
      message === 'Back soon.',
    ];
  };
  const none = [false, false, false, false, false];

  assert.is(planned.in_maintenance, false);
  assert.equal([await seen(), await timesOf(app)], [none, [false, from, until]]);
  await app.as(ADA).apps.openTicket({ app_id: SALES });
  app.clock.advance(60 * MINUTE_MS);
  assert.equal([await seen(), await timesOf(app)], [none.map(() => true), [true, from, until]]);
  await rejectsWith(app.as(ADA).apps.openTicket({ app_id: SALES }), 'app-in-maintenance');
  app.clock.advance(60 * MINUTE_MS);
  assert.equal([await seen(), await timesOf(app)], [none, [false, null, null]]);
  await app.as(ADA).apps.openTicket({ app_id: SALES });
});

maintenance(
  'in_maintenance begins or ends it at once, also planned or ended maintenance',
  async ({ app }) => {
    await update(app, { maintenance_from: inMinutes(app, 60), maintenance_until: inMinutes(app, 90) });
    await update(app, { in_maintenance: true });
    assert.equal(await timesOf(app), [true, null, null]);
    await update(app, { maintenance_until: inMinutes(app, 5) });
    app.clock.advance(5 * MINUTE_MS);
    assert.equal(await timesOf(app), [false, null, null]);
    await update(app, { in_maintenance: true });
    assert.equal(await timesOf(app), [true, null, null]);
    await update(app, { in_maintenance: false });
    assert.equal(await timesOf(app), [false, null, null]);
  },
);

maintenance('keeps its plan if a caller sends back the app as it was read', async ({ app }) => {
  const [from, until] = [inMinutes(app, 60), inMinutes(app, 90)];
  await update(app, { maintenance_from: from, maintenance_until: until });
  await update(app, await app.as(ACME).apps.get({ app_id: SALES }));
  assert.equal(await timesOf(app), [false, from, until]);
  app.clock.advance(60 * MINUTE_MS);
  await update(app, await app.as(ACME).apps.get({ app_id: SALES }));
  assert.equal(await timesOf(app), [true, from, until]);
});

maintenance('is cancelled before it begins by a begin of null', async ({ app }) => {
  await update(app, { maintenance_from: inMinutes(app, 60), maintenance_until: inMinutes(app, 90) });
  await update(app, { maintenance_from: null });

  assert.equal(await timesOf(app), [false, null, null]);
  const [entry] = await app.as(ACME).audit.list({ action: 'app.update', target: 'sales' });
  assert.equal(Object.keys(entry?.details ?? {}).toSorted(), [
    'in_maintenance',
    'maintenance_from',
    'maintenance_until',
  ]);
});

maintenance('needs a begin, and an end that is later and not past', async ({ app }) => {
  const refused: [changes: object, reason: string][] = [
    [{ maintenance_until: inMinutes(app, 5) }, 'no begin'],
    [{ in_maintenance: true, maintenance_until: inMinutes(app, -5) }, 'past'],
    [{ maintenance_from: inMinutes(app, 60), maintenance_until: inMinutes(app, 60) }, 'not after the begin'],
  ];
  for (const [changes, reason] of refused) {
    const problem = await rejectsWith(update(app, changes), 'invalid-input');
    assert.equal(Object.keys(problem.fields ?? {}), ['maintenance_until'], reason);
  }
  assert.equal(await timesOf(app), [false, null, null]);
});

maintenance.run();
