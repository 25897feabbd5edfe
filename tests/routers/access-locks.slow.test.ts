import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createCaller } from '../../routers/index.ts';
import { type Em, kysely } from '../../src/db/kysely.ts';
import { lockAccessChange } from '../../src/services/access/locks.ts';
import { userId } from '../support/access-views.ts';
import { busySessions } from '../support/database-sessions.ts';
import { erase } from '../support/person.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf, setRows } from '../support/rows.ts';
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

const untilWaiting = (app: TestApp) =>
  until('another session waits for a lock', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      app.db(),
    );
    return rows.length > 0;
  });

const locks = appSuite('the lock of the access of a caller');

/** Both succeed: the request of the person holds rows for which the change waits. */
const succeedTogether = async (
  app: TestApp,
  held: ReturnType<typeof heldCaller>,
  request: (caller: ReturnType<typeof createCaller>) => Promise<unknown>,
  change: () => Promise<unknown>,
): Promise<void> => {
  const requested = request(held.caller);
  await held.reached;
  const changed = change();
  await untilWaiting(app);
  held.release();
  await Promise.all([requested, changed]);
};

const OPEN = { app_id: SALES, entries: [{ email: STAFF, action: 'OPEN' }] };

locks('lets people who are deactivated finish the requests that lock their rows', async ({ app }) => {
  const deactivate = () => app.as(ROOT).users.deactivate({ email: ADA });
  await succeedTogether(app, heldCaller(app, ADA), ({ sessions }) => sessions.end(), deactivate);

  assert.not((await app.as(ROOT).users.get({ email: ADA })).is_active);
});

locks('is taken last by an update that deactivates: after rows that the user holds', async ({ app }) => {
  const held = heldCaller(app, STAFF, (tx) =>
    kysely(tx).selectFrom('apps').select('id').where('id', '=', CHURN).forUpdate().execute(),
  );
  const update = () => app.as(ROOT).users.update({ email: STAFF, is_active: false, apps: [CHURN] });
  await succeedTogether(app, held, ({ usage }) => usage.record(OPEN), update);

  await app.as(ROOT).users.update({ email: STAFF, is_active: true });
  await app.renewToken(STAFF);
});

locks('lets people who are erased finish the requests that lock their rows', async ({ app }) => {
  await app.as(STAFF).usage.record(OPEN);
  const erasure = () => erase(app, STAFF);
  await succeedTogether(app, heldCaller(app, STAFF), ({ usage }) => usage.record(OPEN), erasure);

  assert.equal(await rowsOf(app, 'usage_entries', { email: STAFF }), []);
});

locks('lets one of two admins deactivate the other, and refuses the second', async ({ app }) => {
  const other = 'zoe@acme.test';
  await app.as(ROOT).users.create({ email: other, client: 1 });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: other, is_admin: true });
  for (const [first, second] of [
    [ACME, other],
    [other, ACME],
  ] as const) {
    const winner = heldCaller(app, first);
    const deactivation = winner.caller.users.deactivate({ email: second });
    await winner.reached;

    const late = rejectsWith(app.as(second).users.deactivate({ email: first }), 'unauthenticated');
    await untilWaiting(app);
    winner.release();

    await Promise.all([deactivation, late]);
    // By SQL: client admins cannot be updated.
    await setRows(app, 'users', { email: second }, { is_active: true });
    await app.renewToken(second);
  }
});

locks('a mutation is rolled back if its time passes before the caller is confirmed', async ({ app }) => {
  const { first_name: before } = await app.as(ROOT).users.get({ email: ADA });
  const hurried = createCaller({ ...app.contextOf(ROOT), timeLimitMs: 1_000 });
  const holder = app.orm.em.fork();
  await holder.begin();
  await lockAccessChange(holder, await userId(app, ROOT), null);

  await rejectsWith(hurried.users.update({ email: ADA, first_name: 'Late' }), 'overloaded');
  await untilWaiting(app);
  await holder.commit();

  await until('the transaction ends', async () => (await busySessions(app)) === 0);
  assert.is((await app.as(ROOT).users.get({ email: ADA })).first_name, before);
});

locks.run();
