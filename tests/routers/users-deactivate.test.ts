import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
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

const deactivate = appSuite('users.deactivate');

const makeSuperuser = async (app: TestApp, email: string): Promise<void> => {
  await app.as(ROOT).users.create({ email, client: 1 });
  await app.db().updateTable('users').set({ is_superuser: true }).where('email', '=', email).execute();
};

deactivate('revokes access, keeps the user, and keeps the first date when repeated', async ({ app }) => {
  await app.as(ACME).users.deactivate({ email: GRACE });
  const first = await app.as(ACME).users.get({ email: GRACE });
  app.clock.advance(MINUTE_MS);
  await app.as(ACME).users.deactivate({ email: GRACE });
  const second = await app.as(ACME).users.get({ email: GRACE });

  assert.is(first.is_active, false);
  assert.equal(second, first);
});

deactivate('works by PATCH with is_active, and can be undone', async ({ app }) => {
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

deactivate('responds with 204 over REST, and 404 for a user the caller may not see', async ({ app }) => {
  const done = await app.send(`DELETE /jb/users/${IDLE}/`, { as: ACME });
  const foreign = await app.send(`DELETE /jb/users/${EDSGER}/`, { as: ACME });

  assert.is(done.statusCode, 204);
  assert.is(done.body, '');
  assert.is(foreign.statusCode, 404);
});

deactivate('refuses to deactivate oneself', async ({ app }) => {
  await rejectsWith(app.as(ACME).users.deactivate({ email: ACME }), 'self-modification');
  await rejectsWith(app.as(ROOT).users.deactivate({ email: ROOT }), 'self-modification');
  await rejectsWith(app.as(ROOT).users.update({ email: ROOT, is_active: false }), 'self-modification');
});

deactivate(
  'by a client admin only suspends the membership of an admin of another client',
  async ({ app }) => {
    await app
      .db()
      .insertInto('memberships')
      .values(await membership(app, GLOBEX, 1))
      .execute();

    await app.as(ACME).users.deactivate({ email: GLOBEX });
    assert.is((await app.as(GLOBEX).users.get({ email: GLOBEX })).is_active, true);
    await app.as(ROOT).users.deactivate({ email: GLOBEX });
    await rejectsWith(app.as(GLOBEX).users.get({ email: GLOBEX }), 'unauthenticated');
  },
);

deactivate('refuses a client admin for superusers and staff of the same client', async ({ app }) => {
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

deactivate('fails a concurrent change by the deactivated superuser', async ({ app }) => {
  const [x, y, z] = ['x@acme.test', 'y@acme.test', 'z@acme.test'] as const;
  for (const email of [x, y, z]) await makeSuperuser(app, email);

  const outcomes = await Promise.allSettled([
    app.as(x).users.deactivate({ email: y }),
    app.as(y).users.deactivate({ email: z }),
    app.as(z).users.deactivate({ email: x }),
  ]);

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
});

deactivate('lets one of two superusers succeed who deactivate each other', async ({ app }) => {
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

deactivate.run();

const membership = async (app: TestApp, email: string, clientId: number) => {
  const user = await app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  return { user_id: user.id, client_id: clientId };
};
