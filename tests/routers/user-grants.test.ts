import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const grants = appSuite('grants of a user');

const FLEET = 'Hb7cW2ke';

const ENDLESS = { expires_at: null, reason: '' };

const grantOf = async (app: TestApp, who: string, email: string, id: string) =>
  (await app.as(who).access.listByUser({ email })).find((grant) => grant.app === id);

grants('say who granted an app, and when, for the latest grant', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [] });
  app.clock.advance(MINUTE_MS);
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES] });
  await app.as(ROOT).users.update({ email: GRACE, apps: [] });
  app.clock.advance(MINUTE_MS);
  const granted_at = app.clock.now();
  await app.as(ACME).access.update({ id: 1, cells: [{ email: GRACE, app_id: SALES, granted: true }] });
  app.clock.advance(MINUTE_MS);
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, CHURN] });

  const listed = await app.as(ACME).access.listByUser({ email: GRACE });

  assert.equal(listed, [
    { app: SALES, granted_at, granted_by: ACME, ...ENDLESS },
    { app: CHURN, granted_at: app.clock.now(), granted_by: ROOT, ...ENDLESS },
  ]);
});

grants('name the inviter of an accepted invitation', async ({ app }) => {
  const email = 'invited@guest.test';
  const items = [{ email, client: 1, initial_apps: [SALES] }];
  const [invitation] = await app.as(ACME).invitations.create({ items });
  const signature = new URL(app.links.invitation(invitation?.key ?? '')).searchParams.get('signature') ?? '';
  app.clock.advance(MINUTE_MS);
  const key = invitation?.key ?? '';
  await app.as(null).invitations.accept({ key, signature, password: 'violet-harbor-92-kite' });

  assert.equal(await grantOf(app, ROOT, email, SALES), {
    app: SALES,
    granted_at: app.clock.now(),
    granted_by: ACME,
    ...ENDLESS,
  });
});

grants('are unknown if nothing recorded them', async ({ app }) => {
  const { apps } = await app.as(ROOT).users.get({ email: ADA });
  const listed = await app.as(ROOT).access.listByUser({ email: ADA });

  assert.ok(apps.length > 0);
  assert.equal(
    listed,
    apps.map((id) => ({ app: id, granted_at: null, granted_by: null, ...ENDLESS })),
  );
});

grants('show each admin those of the clients that they administer', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });

  assert.ok((await grantOf(app, GLOBEX, GRACE, FLEET))?.granted_at);
  assert.equal(
    (await app.as(GLOBEX).access.listByUser({ email: GRACE })).map((grant) => grant.app),
    [FLEET],
  );
  assert.equal(
    (await app.as(ACME).access.listByUser({ email: GRACE })).map((grant) => grant.app),
    [SALES],
  );
});

grants(
  'are refused to those who may not read the audit trail, and for users of other clients',
  async ({ app }) => {
    for (const who of [STAFF, ADA])
      await rejectsWith(app.as(who).access.listByUser({ email: ADA }), 'forbidden');
    await rejectsWith(app.as(GLOBEX).access.listByUser({ email: ADA }), 'not-found');
    await rejectsWith(app.as(ROOT).access.listByUser({ email: 'unknown@acme.test' }), 'not-found');
  },
);

grants.run();
