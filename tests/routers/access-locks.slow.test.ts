import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createCaller } from '../../routers/index.ts';
import { type Em, kysely } from '../../src/db/kysely.ts';
import { lockAccessChange } from '../../src/services/access/locks.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { CHURN, SALES } from '../support/usage.ts';

const ORIGIN = { requestId: 'in-process', address: '127.0.0.1' };

/** A caller whose transactions call `hold`, and wait before the caller is confirmed until they are released. */
const heldCaller = (app: TestApp, email: string, hold: (tx: Em) => Promise<unknown> = async () => {}) => {
  const released = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const context = app.contextOf(email);
  const caller = createCaller({
    ...context,
    openServices: (confirmBeforeCommit) =>
      app.openServices(ORIGIN, async (tx) => {
        await hold(tx);
        reached.resolve();
        await released.promise;
        await confirmBeforeCommit?.(tx);
      }),
  });
  return { caller, reached: reached.promise, release: released.resolve };
};

const isWaiting = async (app: TestApp): Promise<boolean> => {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
    app.db(),
  );
  return rows.length > 0;
};

const locks = appSuite('the lock of the access of a caller');

/** An admin of the same client as ACME. */
const OTHER = 'zoe@acme.test';

/** By SQL: client admins cannot be updated. */
const reactivate = async (app: TestApp, email: string): Promise<void> => {
  await app.db().updateTable('users').set({ is_active: true }).where('email', '=', email).execute();
  await app.renewToken(email);
};

locks('lets people who are deactivated finish the requests that lock their rows', async ({ app }) => {
  const ada = heldCaller(app, ADA);
  const logout = ada.caller.sessions.end();
  await ada.reached;

  const deactivation = app.as(ROOT).users.deactivate({ email: ADA });
  await until('the deactivation waits for the token', () => isWaiting(app));
  ada.release();

  const outcomes = await Promise.allSettled([logout, deactivation]);
  assert.equal(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled'],
  );
  assert.not((await app.as(ROOT).users.get({ email: ADA })).is_active);
});

locks('is taken last by an update that deactivates: after rows that the user holds', async ({ app }) => {
  const entries = [{ email: STAFF, action: 'OPEN' }];
  const staff = heldCaller(app, STAFF, (tx) =>
    kysely(tx).selectFrom('apps').select('id').where('id', '=', CHURN).forUpdate().execute(),
  );
  const recording = staff.caller.usage.record({ app_id: SALES, entries });
  await staff.reached;

  const update = app.as(ROOT).users.update({ email: STAFF, is_active: false, apps: [CHURN] });
  await until('the update waits for the app that it grants', () => isWaiting(app));
  staff.release();

  const outcomes = await Promise.allSettled([recording, update]);
  assert.equal(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled'],
  );
  await app.as(ROOT).users.update({ email: STAFF, is_active: true });
  await app.renewToken(STAFF);
});

locks('lets people who are erased finish the requests that lock their rows', async ({ app }) => {
  const entries = [{ email: STAFF, action: 'OPEN' }];
  await app.as(STAFF).usage.record({ app_id: SALES, entries });
  const { confirmation } = await app.as(ROOT).users.previewErasure({ email: STAFF });
  const staff = heldCaller(app, STAFF);
  const recording = staff.caller.usage.record({ app_id: SALES, entries });
  await staff.reached;

  const erasure = app.as(ROOT).users.erase({ email: STAFF, confirmation, confirm_email: STAFF });
  await until('the erasure waits for the usage', () => isWaiting(app));
  staff.release();

  const outcomes = await Promise.allSettled([recording, erasure]);
  assert.equal(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled'],
  );
  const left = await app.db().selectFrom('usage_entries').select('id').where('email', '=', STAFF).execute();
  assert.equal(left, []);
});

locks('lets one of two admins deactivate the other, and refuses the second', async ({ app }) => {
  await app.as(ROOT).users.create({ email: OTHER, client: 1 });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: OTHER, is_admin: true });
  const orders = [
    [ACME, OTHER],
    [OTHER, ACME],
  ] as const;
  for (const [first, second] of orders) {
    const winner = heldCaller(app, first);
    const deactivation = winner.caller.users.deactivate({ email: second });
    await winner.reached;

    const late = rejectsWith(app.as(second).users.deactivate({ email: first }), 'unauthenticated');
    await until('the other waits', () => isWaiting(app));
    winner.release();

    await deactivation;
    await late;
    await reactivate(app, second);
  }
});

locks.run();

const late = appSuite('a mutation that waits to commit');

late('is rolled back if its time passes before the caller is confirmed', async ({ app }) => {
  const { id } = await app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', '=', ROOT)
    .executeTakeFirstOrThrow();
  const { first_name: before } = await app.as(ROOT).users.get({ email: ADA });
  const hurried = createCaller({ ...app.contextOf(ROOT), timeLimitMs: 1_000 });
  const holder = app.orm.em.fork();
  await holder.begin();
  await lockAccessChange(holder, id, null);

  await rejectsWith(hurried.users.update({ email: ADA, first_name: 'Late' }), 'overloaded');
  await until('the work goes on', () => isWaiting(app));
  await holder.commit();

  await until('the transaction ends', async () => {
    const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`.execute(
      app.db(),
    );
    return rows.length === 0;
  });
  assert.is((await app.as(ROOT).users.get({ email: ADA })).first_name, before);
});

late.run();
