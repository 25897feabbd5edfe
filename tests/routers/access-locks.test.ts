import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createCaller } from '../../routers/index.ts';
import { appSuite } from '../support/app-suite.ts';
import { until } from '../support/poll.ts';
import { ADA, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const ORIGIN = { requestId: 'in-process', address: '127.0.0.1' };

/** A caller whose transactions wait before the caller is confirmed, until they are released. */
const heldCaller = (app: TestApp, email: string) => {
  const released = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const context = app.contextOf(email);
  const caller = createCaller({
    ...context,
    openServices: (beforeCommit) =>
      app.openServices(ORIGIN, async (tx) => {
        reached.resolve();
        await released.promise;
        await beforeCommit?.(tx);
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

locks('lets people who are deactivated finish what holds rows of theirs', async ({ app }) => {
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

locks('lets people who are erased finish what holds rows of theirs', async ({ app }) => {
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

locks.run();
