import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { setFactorPolicy } from '../support/second-factors.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, IDLE, ROOT, STAFF } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const screen = appSuite('users.screen');

screen('names the last day of use and its app, as far as the viewer may see', async ({ app }) => {
  const email = 'busy@acme.test';
  await app.as(ROOT).users.create({ email, apps: [SALES, CHURN, FLEET] });
  const use = (app_id: string, days: number) => ({
    app_id,
    entries: [{ email, action: 'OPEN', timestamp: new Date(app.clock.now().getTime() - days * 86_400_000) }],
  });
  for (const [app_id, days] of [
    [SALES, 3],
    [CHURN, 2],
    [FLEET, 1],
  ] as const)
    await app.as(ROOT).usage.record(use(app_id, days));
  const dayOf = (days: number) =>
    new Date(app.clock.now().getTime() - days * 86_400_000).toISOString().slice(0, 10);
  const lastUse = async (viewer: string) => (await app.as(viewer).users.screen({ email })).last_use;

  assert.equal(await lastUse(ROOT), { day: dayOf(1), app: 'Fleet' });
  assert.equal(await lastUse(STAFF), { day: dayOf(1), app: 'Fleet' });
  assert.equal(await lastUse(ACME), { day: dayOf(2), app: 'Churn' });
  const days = await app.as(ACME).users.activity({ email, limit: 1 });
  assert.equal(days, [{ day: dayOf(2), apps: [{ id: CHURN, label: 'Churn', actions: 1 }] }]);
  const older = await app.as(ACME).users.activity({ email, cursor: days[0]?.day });
  assert.equal(
    older.map(({ day, apps }) => [day, apps.map(({ id }) => id)]),
    [[dayOf(3), [SALES]]],
  );
});

screen('says how a person logs in to those who may change the account', async ({ app }) => {
  const email = 'no-password@acme.test';
  await app.as(ACME).users.create({ email, client: 1, send_email: false });
  await app.as(ACME).clients.update({ id: 1, password_expiration_days: 90 });

  const account = async (viewer: string, of: string) =>
    (await app.as(viewer).users.screen({ email: of })).account;

  assert.is((await account(ACME, email))?.has_password, false);
  const ada = await account(ROOT, ADA);
  assert.ok(ada?.has_password);
  assert.ok((ada?.password_expires_at ?? new Date(0)) > app.clock.now());
  assert.is(await account(STAFF, ADA), null);
  assert.is(await account(ACME, ROOT).catch(() => null), null);
});

screen(
  'of an inactive person has no date on which the password expires before a reactivation',
  async ({ app }) => {
    const email = 'inactive@acme.test';
    await app.as(ACME).users.create({ email, client: 1, send_email: false });
    await sql`update users set password_hash = 'x', last_password_set = ${app.clock.now()}::timestamptz - interval '90 days'
    where email = ${email}`.execute(app.db());
    await app.as(ACME).users.update({ email, is_active: false });
    await app.as(ACME).clients.update({ id: 1, password_expiration_days: 30 });

    const { account } = await app.as(ACME).users.screen({ email });
    assert.is(account?.password_expires_at, null);
    await app.as(ACME).clients.update({ id: 1, password_expiration_days: 0 });
  },
);

screen('says whether the second factor that a person lacks is a passkey', async ({ app }) => {
  const needed = async () => {
    const { account } = await app.as(ACME).users.screen({ email: ADA });
    return [account?.factor_required_from?.getTime(), account?.needs_passkey];
  };
  const now = app.clock.now().getTime();
  assert.equal(await needed(), [undefined, false]);
  await setFactorPolicy(app, 1, { policy: 'required' });
  assert.equal(await needed(), [now, false]);
  await setFactorPolicy(app, 1, { policy: 'passkey' });
  assert.equal(await needed(), [now, true]);
  await setFactorPolicy(app, 1, { policy: 'off' });
});

screen('names the roles in all clients', async ({ app }) => {
  const roleOf = async (email: string) => (await app.as(ROOT).users.screen({ email })).role;
  assert.equal(await Promise.all([ROOT, STAFF, ACME, ADA].map(roleOf)), ['superuser', 'staff', null, null]);
});

screen('is of people whom the viewer sees', async ({ app }) => {
  await rejectsWith(app.as(ACME).users.screen({ email: EDSGER }), 'not-found');
  await rejectsWith(app.as(ACME).users.activity({ email: EDSGER }), 'not-found');
  await rejectsWith(app.as(GLOBEX).users.screen({ email: IDLE }), 'not-found');
  await rejectsWith(app.as(ADA).users.screen({ email: ADA }), 'forbidden');
  await rejectsWith(app.as(ROOT).users.screen({ email: 'nobody@acme.test' }), 'not-found');
});

screen.run();
