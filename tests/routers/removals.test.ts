import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createCaller } from '../../routers/index.ts';
import { kysely } from '../../src/db/kysely.ts';
import { pruneRemovedUsage } from '../../src/services/removals/removals.ts';
import { setClient } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf } from '../support/rows.ts';
import { ACME, appSuite, EDSGER, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const removals = appSuite('removals of apps and clients');

const usageRows = async (app: TestApp, app_id: string): Promise<number> =>
  (await rowsOf(app, 'usage_entries', { app_id })).length +
  (await rowsOf(app, 'usage_days', { app_id })).length;

const audited = async (app: TestApp, target: string) =>
  (await app.as(ROOT).audit.list({ target })).map(({ action }) => action);

removals('are for superusers, of what is closed, with its name typed', async ({ app }) => {
  for (const who of [ACME, STAFF, GRACE]) {
    await rejectsWith(app.as(who).apps.previewRemoval({ app_id: CHURN }), 'forbidden');
    await rejectsWith(app.as(who).apps.remove({ app_id: CHURN, confirm_name: 'Churn' }), 'forbidden');
    await rejectsWith(app.as(who).clients.previewRemoval({ id: 1 }), 'forbidden');
    await rejectsWith(app.as(who).clients.remove({ id: 1, confirm_name: 'Acme Analytics' }), 'forbidden');
  }
  const root = app.as(ROOT);
  const { name, is_closed } = await root.apps.previewRemoval({ app_id: CHURN });
  assert.is(is_closed, false);
  await rejectsWith(root.apps.remove({ app_id: CHURN, confirm_name: name }), 'not-closed');
  await rejectsWith(root.clients.remove({ id: 1, confirm_name: 'Acme Analytics' }), 'not-closed');
  await root.apps.update({ app_id: CHURN, in_maintenance: true });
  const unnamed = root.apps.remove({ app_id: CHURN, confirm_name: 'churn' });
  assert.equal(Object.keys((await rejectsWith(unnamed, 'invalid-input')).fields ?? {}), ['confirm_name']);
  await rejectsWith(root.apps.remove({ app_id: 'AAAAAAAA', confirm_name: name }), 'not-found');
  await rejectsWith(root.clients.previewRemoval({ id: 999 }), 'not-found');
  assert.is((await root.apps.get({ app_id: CHURN })).label, name);
  await root.apps.update({ app_id: CHURN, in_maintenance: false });
});

removals('delete an app with all that belongs to it, and keep the audit trail', async ({ app }) => {
  const root = app.as(ROOT);
  await root.apps.update({ app_id: CHURN, in_maintenance: true });
  await root.apps.update({ app_id: CHURN, is_requestable: true });
  await app.as(GRACE).requests.create({ app: CHURN });
  await app.as(ACME).groups.create({ id: 1, name: 'Churners', members: [GRACE], apps: [CHURN, SALES] });
  const { name, is_closed, ...counts } = await root.apps.previewRemoval({ app_id: CHURN });
  const { slug } = await root.apps.get({ app_id: CHURN });
  const used = await usageRows(app, CHURN);
  assert.is(is_closed, true);
  assert.equal([counts.groups_with_it, counts.access_requests], [1, 1]);
  assert.ok(counts.usage_entries > 0 && used > 0);

  await root.apps.remove({ app_id: CHURN, confirm_name: name });

  await rejectsWith(root.apps.get({ app_id: CHURN }), 'not-found');
  await rejectsWith(root.usage.list({ app_id: CHURN }), 'not-found');
  assert.equal((await app.as(ACME).groups.list({ id: 1 }))[0]?.apps, [SALES]);
  const [entry] = await root.audit.list({ target: slug, action: 'app.remove' });
  assert.equal([entry?.actor, entry?.details], [ROOT, { id: CHURN, ...counts }]);

  const kept = await usageRows(app, SALES);
  await pruneRemovedUsage(app.orm.em.fork());
  assert.equal([await usageRows(app, CHURN), await usageRows(app, SALES)], [0, kept]);
});

removals('of a client deactivate those who belong to no other', async ({ app }) => {
  const root = app.as(ROOT);
  await root.users.update({ email: GRACE, apps: [SALES, FLEET] });
  await setClient(app, 2, false);
  const { name, deactivated_accounts, members, apps } = await root.clients.previewRemoval({ id: 2 });
  assert.is(apps, 1);
  assert.is(members, deactivated_accounts + 1);

  await root.clients.remove({ id: 2, confirm_name: name });

  await rejectsWith(root.clients.get({ id: 2 }), 'not-found');
  await rejectsWith(root.apps.get({ app_id: FLEET }), 'not-found');
  const [grace, edsger] = [await root.users.get({ email: GRACE }), await root.users.get({ email: EDSGER })];
  assert.equal([grace.is_active, grace.apps], [true, [SALES]]);
  assert.equal([edsger.is_active, edsger.apps], [false, []]);
  assert.equal((await root.memberships.list({ email: EDSGER })).length, 0);
  await rejectsWith(app.as(GLOBEX).apps.list({}), 'unauthenticated');
  assert.ok((await audited(app, name)).includes('client.remove'));
  assert.ok((await audited(app, EDSGER)).includes('user.deactivate'));
  assert.is((await root.sites.list({})).length, 2);
});

const long = appSuite('removals that take long');

long('have no limit of time', async ({ app }) => {
  const root = app.as(ROOT);
  await root.apps.update({ app_id: CHURN, in_maintenance: true });
  const { name } = await root.apps.previewRemoval({ app_id: CHURN });
  const context = app.contextOf(ROOT);
  const actor = await context.findActor();
  // The caller is known, so that the limit cannot pass before the removal lifts it.
  const hurried = createCaller({ ...context, timeLimitMs: 400, findActor: async () => actor });
  await app.orm.em
    .fork()
    .transactional(async (holder) => {
      await sql`select from apps where id = ${CHURN} for update`.execute(kysely(holder));
      const removal = hurried.apps.remove({ app_id: CHURN, confirm_name: name });
      // Its limit passes after that of the removal would.
      await rejectsWith(hurried.apps.update({ app_id: CHURN, help_html: 'Late' }), 'overloaded');
      return { removal };
    })
    .then(({ removal }) => removal);
  await rejectsWith(root.apps.get({ app_id: CHURN }), 'not-found');
});

removals.run();
long.run();
