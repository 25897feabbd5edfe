import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setFactorPolicy } from '../support/second-factors.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  IDLE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const users = appSuite('users');

const makeSuperuser = async (app: TestApp, email: string): Promise<void> => {
  await app.as(ROOT).users.create({ email, client: 1 });
  await app.db().updateTable('users').set({ is_superuser: true }).where('email', '=', email).execute();
};

users(
  'deactivate revokes access, keeps the user, and keeps the first date when repeated',
  async ({ app }) => {
    await app.as(ACME).users.deactivate({ email: GRACE });
    const first = await app.as(ACME).users.get({ email: GRACE });
    app.clock.advance(MINUTE_MS);
    await app.as(ACME).users.deactivate({ email: GRACE });
    const second = await app.as(ACME).users.get({ email: GRACE });

    assert.is(first.is_active, false);
    assert.equal(second, first);
  },
);

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

users(
  'deactivate by a client admin only suspends the membership of an admin of another client',
  async ({ app }) => {
    await app
      .db()
      .insertInto('memberships')
      .values(await membership(app, GLOBEX, 1))
      .execute();
    await app.db().updateTable('users').set({ was_shared: true }).where('email', '=', GLOBEX).execute();

    await app.as(ACME).users.deactivate({ email: GLOBEX });
    assert.is((await app.as(GLOBEX).users.get({ email: GLOBEX })).is_active, true);
    await app.as(ROOT).users.deactivate({ email: GLOBEX });
    await rejectsWith(app.as(GLOBEX).users.get({ email: GLOBEX }), 'unauthenticated');
  },
);

users('deactivate refuses a client admin for superusers and staff of the same client', async ({ app }) => {
  await makeSuperuser(app, 'boss@acme.test');
  await app
    .db()
    .insertInto('memberships')
    .values(await membership(app, STAFF, 1))
    .execute();

  for (const email of ['boss@acme.test', STAFF]) {
    await rejectsWith(app.as(ACME).users.deactivate({ email }), 'forbidden');
    await rejectsWith(app.as(ACME).users.update({ email, first_name: 'X' }), 'forbidden');
  }
});

users('deactivate fails a concurrent change by the deactivated superuser', async ({ app }) => {
  const [x, y, z] = ['x@acme.test', 'y@acme.test', 'z@acme.test'] as const;
  for (const email of [x, y, z]) await makeSuperuser(app, email);

  const outcomes = await Promise.allSettled([
    app.as(x).users.deactivate({ email: y }),
    app.as(y).users.deactivate({ email: z }),
    app.as(z).users.deactivate({ email: x }),
  ]);

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
});

users('deactivate lets one of two superusers succeed who deactivate each other', async ({ app }) => {
  const others = app.db().updateTable('users').set({ is_superuser: false }).where('email', '<>', ROOT);
  await others.execute();
  await makeSuperuser(app, 'second@acme.test');

  const outcomes = await Promise.allSettled([
    app.as(ROOT).users.deactivate({ email: 'second@acme.test' }),
    app.as('second@acme.test').users.deactivate({ email: ROOT }),
  ]);
  const active = await app
    .db()
    .selectFrom('users')
    .select('email')
    .where('is_superuser', '=', true)
    .where('is_active', '=', true)
    .execute();

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.is(active.length, 1);
});

const membership = async (app: TestApp, email: string, clientId: number) => {
  const user = await app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  return { user_id: user.id, client_id: clientId };
};

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

users.run();
screen.run();
