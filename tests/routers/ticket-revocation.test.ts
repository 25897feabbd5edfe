import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createLaunchCode } from '../../src/services/gate/launches.ts';
import { pruneTickets } from '../../src/services/gate/ticket-revocations.ts';
import { claimsIn, isActive, openedView, setApp, ticketOf, usedView } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const revocation = appSuite('tickets.revoke');

/** A ticket of the next millisecond is not revoked. */
const nextMillisecond = (app: TestApp) => sql`select pg_sleep(0.002)`.execute(app.db());

/** Whether a statement waits for the lock of a row. */
const isWaiting = async (app: TestApp): Promise<boolean> => {
  const { rows } = await sql`
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(app.db());
  return rows.length > 0;
};

revocation('ends the tickets of a user that were issued before, not those after', async ({ app }) => {
  const [before, other] = [await ticketOf(app, GRACE), await ticketOf(app, ADA)];

  await app.as(ACME).tickets.revoke({ user: GRACE });
  await nextMillisecond(app);
  const after = await ticketOf(app, GRACE);

  assert.is(claimsIn(before).iat, claimsIn(after).iat, 'issued in the same second');
  assert.equal([await isActive(app, before), await isActive(app, after)], [false, true]);
  assert.ok(await isActive(app, other));
});

revocation('ends tickets for an app, and all', async ({ app }) => {
  const sales = await ticketOf(app, GRACE);
  const churn = (await app.as(ADA).apps.openTicket({ app_id: CHURN })).ticket;

  await app.as(ACME).tickets.revoke({ app_id: SALES });
  assert.equal([await isActive(app, sales), await isActive(app, churn)], [false, true]);
  await app.as(ROOT).tickets.revoke({ all: true });
  assert.not.ok(await isActive(app, churn));
  await nextMillisecond(app);
  assert.ok(await isActive(app, await ticketOf(app, GRACE)));
});

revocation('ends the tickets, codes and embedded pages of a view', async ({ app }) => {
  const [revoked, kept] = [await openedView(app), await openedView(app)];
  const { tickets } = app.openServices();
  const ticketFor = async (useId: number) =>
    (await tickets.issueTicket({ kind: 'view', useId, appId: SALES })).ticket;
  const [of, ofOther] = [await ticketFor(revoked.useId), await ticketFor(kept.useId)];
  for (const { useId } of [revoked, kept]) {
    await createLaunchCode(app.orm.em.fork(), { kind: 'view', useId, appId: SALES }, app.clock.now());
  }

  await app.as(ACME).tickets.revoke({ access_view: String(revoked.viewId) });

  assert.equal([await isActive(app, of), await isActive(app, ofOther)], [false, true]);
  for (const table of ['embed_sessions', 'launch_codes'] as const) {
    const rows = await app.db().selectFrom(table).select('access_view_use_id').execute();
    assert.equal(
      rows.map(({ access_view_use_id }) => access_view_use_id),
      [kept.useId],
      table,
    );
  }
});

revocation('waits for uses of the view in flight, and ends what they open', async ({ app }) => {
  const { key, viewId, useId } = await usedView(app);
  const digest = 'd'.repeat(64);
  const expires_at = new Date(app.clock.now().getTime() + 60_000);
  let revoked: Promise<unknown> = Promise.resolve();
  await app
    .db()
    .transaction()
    .execute(async (use) => {
      await use.updateTable('access_views').set({ uses: sql`uses + 1` }).where('id', '=', viewId).execute();
      await use
        .insertInto('embed_sessions')
        .values({ digest, access_view_use_id: useId, expires_at })
        .execute();
      let isDone = false;
      revoked = app
        .as(ACME)
        .tickets.revoke({ access_view: key })
        .finally(() => {
          isDone = true;
        });
      while (!(isDone || (await isWaiting(app)))) await nextMillisecond(app);
    });
  await revoked;

  const found = await app.db().selectFrom('embed_sessions').where('digest', '=', digest).execute();
  assert.equal(found, []);
});

revocation('ends the launch codes of a user', async ({ app }) => {
  await app.db().deleteFrom('launch_codes').execute();
  await app.as(GRACE).apps.launch({ app_slug: 'sales' });
  await setApp(app, { launch_url: 'https://sales.example.com/' });
  for (const who of [GRACE, ADA]) await app.as(who).apps.launch({ app_slug: 'sales' });

  await app.as(ROOT).tickets.revoke({ user: GRACE });

  assert.is((await app.db().selectFrom('launch_codes').select('digest').execute()).length, 1);
});

revocation('is limited to what the caller administers', async ({ app }) => {
  const { key } = await usedView(app);
  const globex = app.as(GLOBEX).tickets;

  await rejectsWith(globex.revoke({ user: GRACE }), 'not-found');
  await rejectsWith(globex.revoke({ app_id: SALES }), 'not-found');
  await rejectsWith(globex.revoke({ access_view: key }), 'not-found');
  await rejectsWith(globex.revoke({ all: true }), 'forbidden');
  await rejectsWith(app.as(STAFF).tickets.revoke({ app_id: SALES }), 'forbidden');
  await rejectsWith(app.as(EDSGER).tickets.revoke({ user: EDSGER }), 'forbidden');
  // An administrator of another client, who can open the app.
  await app.as(ROOT).users.update({ email: EDSGER, apps: [SALES] });
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: EDSGER, is_admin: true });
  await rejectsWith(app.as(EDSGER).tickets.revoke({ app_id: SALES }), 'forbidden');
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: EDSGER, is_admin: false });
});

revocation('needs exactly one thing to revoke', async ({ app }) => {
  for (const input of [{}, { user: GRACE, app_id: SALES }, { user: GRACE, all: true as const }])
    await rejectsWith(app.as(ROOT).tickets.revoke(input), 'invalid-input');
});

revocation('is in the audit trail, and kept once for each subject', async ({ app }) => {
  await app.as(ACME).tickets.revoke({ app_id: SALES });
  await app.as(ACME).tickets.revoke({ app_id: SALES });
  const entries = await app.as(ACME).audit.list({ action: 'ticket.revoke', target: 'sales' });
  const rows = await app
    .db()
    .selectFrom('ticket_revocations')
    .select('id')
    .where('app_id', '=', SALES)
    .execute();

  assert.ok(entries.length >= 2);
  assert.equal([entries[0]?.actor, entries[0]?.clients], [ACME, [1]]);
  assert.is(rows.length, 1);
});

revocation('is deleted when no ticket is older', async ({ app }) => {
  const count = async () => (await app.db().selectFrom('ticket_revocations').select('id').execute()).length;
  await app.as(ROOT).tickets.revoke({ all: true });
  const before = await count();
  // They have the time of the database.
  await app.db().updateTable('ticket_revocations').set({ revoked_at: app.clock.now() }).execute();

  app.clock.advance(599_000);
  await pruneTickets(app.orm.em.fork(), app.clock.now());
  assert.is(await count(), before);
  app.clock.advance(2_000);
  await pruneTickets(app.orm.em.fork(), app.clock.now());
  assert.is(await count(), 0);
});

revocation.run();
