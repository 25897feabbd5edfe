import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { userId } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowsOf, setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const users = appSuite('users');

const makeSuperuser = async (app: TestApp, email: string): Promise<void> => {
  await app.as(ROOT).users.create({ email, client: 1 });
  await setRows(app, 'users', { email }, { is_superuser: true });
};

const addMembership = async (app: TestApp, email: string): Promise<void> =>
  addRows(app, 'memberships', { user_id: await userId(app, email), client_id: 1 });

users('deactivate ends tokens, keeps the user, and the first date when repeated', async ({ app }) => {
  await app.tokenOf(GRACE);
  await app.as(ACME).users.deactivate({ email: GRACE });
  await rejectsWith(app.as(GRACE).users.get({ email: GRACE }), 'unauthenticated');
  const first = await app.as(ACME).users.get({ email: GRACE });
  app.clock.advance(MINUTE_MS);
  await app.as(ACME).users.deactivate({ email: GRACE });
  const second = await app.as(ACME).users.get({ email: GRACE });

  assert.is(first.is_active, false);
  assert.equal(second, first);
});

users('deactivate works by PATCH with is_active, and can be undone', async ({ app }) => {
  const off = await app.as(ACME).users.update({ email: ADA, is_active: false });
  app.clock.advance(MINUTE_MS);
  const on = await app.as(ACME).users.update({ email: ADA, is_active: true });
  const kept = await app.as(ACME).users.update({ email: ADA, is_active: true });

  assert.equal([off.is_active, off.last_activated], [false, null]);
  assert.is(on.is_active, true);
  assert.equal(on.last_deactivated, off.last_deactivated);
  assert.equal(on.last_activated, app.clock.now());
  assert.equal(kept, on);
});

users('deactivate refuses to deactivate oneself', async ({ app }) => {
  await rejectsWith(app.as(ACME).users.deactivate({ email: ACME }), 'self-modification');
  await rejectsWith(app.as(ROOT).users.deactivate({ email: ROOT }), 'self-modification');
  await rejectsWith(app.as(ROOT).users.update({ email: ROOT, is_active: false }), 'self-modification');
});

users('deactivate by a client admin only suspends an admin of another client', async ({ app }) => {
  await addMembership(app, GLOBEX);
  await setRows(app, 'users', { email: GLOBEX }, { was_shared: true });

  await app.as(ACME).users.deactivate({ email: GLOBEX });
  assert.is((await app.as(GLOBEX).users.get({ email: GLOBEX })).is_active, true);
  await app.as(ROOT).users.deactivate({ email: GLOBEX });
  await rejectsWith(app.as(GLOBEX).users.get({ email: GLOBEX }), 'unauthenticated');
});

users('deactivate refuses a client admin for superusers and staff', async ({ app }) => {
  await makeSuperuser(app, 'boss@acme.test');
  await addMembership(app, STAFF);

  for (const email of ['boss@acme.test', STAFF]) {
    const { message } = await rejectsWith(app.as(ACME).users.deactivate({ email }), 'forbidden');
    assert.is(message, 'This needs the role superuser.');
    await rejectsWith(app.as(ACME).users.update({ email, first_name: 'X' }), 'forbidden');
  }
});

users('deactivate lets one of two superusers succeed who deactivate each other', async ({ app }) => {
  await setRows(app, 'users', { email: 'boss@acme.test' }, { is_superuser: false });
  await makeSuperuser(app, 'second@acme.test');

  const outcomes = await Promise.allSettled([
    app.as(ROOT).users.deactivate({ email: 'second@acme.test' }),
    app.as('second@acme.test').users.deactivate({ email: ROOT }),
  ]);
  const active = await rowsOf(app, 'users', { is_superuser: true, is_active: true });

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.is(active.length, 1);
});

const screen = appSuite('users.screen');

screen('names the last day of use and its app, as far as the viewer may see', async ({ app }) => {
  const email = 'busy@acme.test';
  await app.as(ROOT).users.create({ email, apps: [SALES, CHURN, FLEET] });
  const ago = (days: number) => new Date(app.clock.now().getTime() - days * DAY_MS);
  const dayOf = (days: number) => ago(days).toISOString().slice(0, 10);
  for (const [index, app_id] of [FLEET, CHURN, SALES].entries()) {
    const entries = [{ email, action: 'OPEN', timestamp: ago(index + 1) }];
    await app.as(ROOT).usage.record({ app_id, entries });
  }
  const lastUse = async (viewer: string) => (await app.as(viewer).users.screen({ email })).last_use;

  assert.equal(await lastUse(ROOT), { day: dayOf(1), app: 'Fleet' });
  assert.equal(await lastUse(STAFF), { day: dayOf(1), app: 'Fleet' });
  assert.equal(await lastUse(ACME), { day: dayOf(2), app: 'Churn' });
  const days = await app.as(ACME).users.activity({ email, limit: 1 });
  assert.equal(days, [{ day: dayOf(2), apps: [{ id: CHURN, label: 'Churn', actions: 1 }] }]);
  const older = await app.as(ACME).users.activity({ email, cursor: days[0]?.day });
  assert.equal([older.length, older[0]?.day, older[0]?.apps[0]?.id], [1, dayOf(3), SALES]);
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

screen('names the roles in all clients', async ({ app }) => {
  const roleOf = async (email: string) => (await app.as(ROOT).users.screen({ email })).role;
  assert.equal(await Promise.all([ROOT, STAFF, ACME, ADA].map(roleOf)), ['superuser', 'staff', null, null]);
});

screen('is of people whom the viewer sees', async ({ app }) => {
  await rejectsWith(app.as(ACME).users.screen({ email: GLOBEX }), 'not-found');
  await rejectsWith(app.as(ACME).users.activity({ email: GLOBEX }), 'not-found');
  await rejectsWith(app.as(GLOBEX).users.screen({ email: GRACE }), 'not-found');
  await rejectsWith(app.as(ADA).users.screen({ email: ADA }), 'forbidden');
  await rejectsWith(app.as(ROOT).users.screen({ email: 'nobody@acme.test' }), 'not-found');
});

users.run();
screen.run();
