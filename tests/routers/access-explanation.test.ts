import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { setApp, setClient } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, IDLE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const explanation = appSuite('access.explain');

const explain = (app: TestApp, email: string, app_id = SALES, who = ACME) =>
  app.as(who).access.explain({ email, app_id });
const codesOf = async (app: TestApp, email: string, app_id = SALES) =>
  (await explain(app, email, app_id)).blockers.map(({ code }) => code);

explanation('names each way to an app', async ({ app }) => {
  const { id, name } = await app
    .as(ACME)
    .groups.create({ id: 1, name: 'Finance', members: [GRACE], apps: [SALES] });
  await app.as(ACME).grants.update({ app_id: SALES, email: GRACE, reason: 'Audit' });
  const { allowed, paths, blockers } = await explain(app, GRACE);

  assert.equal([allowed, blockers], [true, []]);
  assert.equal(
    paths.map(({ kind, group, reason, granted_by }) => [kind, group, reason, granted_by]),
    [
      ['grant', null, 'Audit', null],
      ['group', { id, name }, '', ACME],
    ],
  );
  const roles = async (email: string) =>
    (await explain(app, email, SALES, ROOT)).paths.map(({ role }) => role);
  assert.equal([await roles(ROOT), await roles(ACME)], [['superuser'], ['client-admin']]);
  await app.as(ACME).groups.remove({ id: 1, group_id: id });
});

explanation('names all that keeps a person out, and what to do about it', async ({ app }) => {
  assert.equal(await codesOf(app, IDLE), ['user-inactive', 'not-granted']);
  assert.equal(await codesOf(app, GRACE, CHURN), ['not-granted']);
  await setApp(app, { in_maintenance: true });
  await setClient(app, 1, false);
  const { allowed, blockers } = await explain(app, IDLE);
  assert.is(allowed, false);
  assert.equal(
    blockers.map(({ code }) => code),
    ['user-inactive', 'not-granted', 'client-closed', 'in-maintenance'],
  );
  assert.ok(blockers.every(({ detail, fix, fixed_by }) => detail && fix && fixed_by));
  await setApp(app, { in_maintenance: false });
  await setClient(app, 1, true);

  await sql`update app_grants set expires_at = now() where app_id = ${SALES}
    and user_id = (select id from users where email = ${GRACE})`.execute(app.db());
  assert.equal(await codesOf(app, GRACE), ['grant-expired']);
  await app.as(ACME).grants.create({ app_id: SALES, email: GRACE });
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });
  await app.as(ACME).users.update({ email: GRACE, is_active: false });
  assert.equal(await codesOf(app, GRACE), ['member-suspended', 'not-granted']);
  await app.as(ACME).users.update({ email: GRACE, is_active: true, apps: [SALES] });
});

explanation('is for those who see the person and the client, and for the person', async ({ app }) => {
  assert.is((await explain(app, ADA, SALES, ADA)).allowed, true);
  assert.is((await explain(app, ADA, CHURN, ADA)).paths.length >= 0, true);
  await rejectsWith(explain(app, ADA, FLEET, ADA), 'not-found');
  await rejectsWith(explain(app, GRACE, SALES, ADA), 'not-found');
  await rejectsWith(explain(app, EDSGER, FLEET, ACME), 'not-found');
  await rejectsWith(explain(app, GRACE, FLEET, ACME), 'not-found');
  await rejectsWith(explain(app, ADA, SALES, GLOBEX), 'not-found');
  await rejectsWith(explain(app, ADA, 'AAAAAAAA', ROOT), 'not-found');
});

explanation.run();
