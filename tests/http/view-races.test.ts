import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createView, openView, viewOf, viewSuite } from '../support/access-views.ts';
import { GRACE, type TestApp } from '../support/test-app.ts';

const races = viewSuite('opening an access view');

const isWaiting = async (app: TestApp): Promise<boolean> => {
  const { rows } = await sql`
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(app.db());
  return rows.length > 0;
};

type Tx = ReturnType<TestApp['db']>;

/** Opens a view after a transaction has changed something, which commits only when the request waits for its lock. */
const openDuring = async (app: TestApp, key: string, change: (tx: Tx) => Promise<unknown>) => {
  const { opened } = await app
    .db()
    .transaction()
    .execute(async (tx) => {
      await change(tx);
      let isDone = false;
      const opened = openView(app, key).finally(() => {
        isDone = true;
      });
      while (!(isDone || (await isWaiting(app)))) await sql`select pg_sleep(0.002)`.execute(app.db());
      return { opened };
    });
  return (await opened).statusCode;
};

const CHANGES = {
  'is revoked': { set: { is_active: false }, status: 410 },
  expires: { set: { expires_at: new Date('2020-01-01') }, status: 410 },
  'is used up': { set: { allowed_uses: 1, uses: 1 }, status: 410 },
  'gets another key': { set: { key: 'another' }, status: 410 },
  'is limited to other networks': { set: { allowed_networks: ['192.0.2.0/24'] }, status: 403 },
};

for (const [what, { set, status }] of Object.entries(CHANGES))
  races(`is refused if the view ${what} at the same time`, async ({ app }) => {
    const { key, id } = await createView(app, { allowed_uses_cnt: 0 });
    const change = (tx: Tx) => tx.updateTable('access_views').set(set).where('id', '=', id).execute();

    assert.is(await openDuring(app, key, change), status);
    const uses = await app.db().selectFrom('access_view_uses').select('id').where('access_view_id', '=', id);
    assert.equal(await uses.execute(), []);
  });

races('is refused if its user is deactivated at the same time', async ({ app }) => {
  const { key } = await createView(app, { user: GRACE });
  const setActive = (tx: Tx, is_active: boolean) =>
    tx.updateTable('users').set({ is_active }).where('email', '=', GRACE).execute();

  assert.is(await openDuring(app, key, (tx) => setActive(tx, false)), 403);
  assert.is((await viewOf(app, key)).usages_cnt, 0);
  await setActive(app.db(), true);
});

races.run();
