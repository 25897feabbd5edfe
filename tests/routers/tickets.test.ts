import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createLaunchCode } from '../../src/services/gate/launches.ts';
import { pruneTickets } from '../../src/services/gate/ticket-revocations.ts';
import { claimsIn, isActive, openedView, resign, ticketOf, usedView } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf, setRows, valuesOf } from '../support/rows.ts';
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
import { until } from '../support/time.ts';
import { CHURN, SALES } from '../support/usage.ts';

const tickets = appSuite('tickets');

/** The ticket of someone who has used a view. */
const ticketOfUse = async (app: TestApp, useId: number, appId = SALES): Promise<string> =>
  (await app.openServices().tickets.issueTicket({ kind: 'view', useId, appId })).ticket;

tickets('openTicket says who opens which app', async ({ app }) => {
  const { ticket, expires_at } = await app.as(GRACE).apps.openTicket({ app_id: SALES });
  const { jti, iat, issued_ms, ...claims } = claimsIn(ticket);
  const now = app.clock.now().getTime() / 1000;

  assert.equal(claims, {
    iss: 'http://localhost:8000',
    aud: 'sales',
    sub: '@grace',
    email: GRACE,
    name: 'Grace Hopper',
    client: { id: 1, name: 'Acme Analytics' },
    app: { id: SALES, slug: 'sales', label: 'Sales' },
    stack: null,
    roles: ['member'],
    app_roles: [],
    data_permissions: null,
    selections: {},
    is_demo_user: false,
    access_view: null,
    show_header: true,
    show_footer: true,
    language_code: '',
    act: null,
    read_only: false,
    amr: [],
    auth_time: null,
    exp: now + 120,
  });
  assert.is(iat, now);
  assert.match(jti, /^[\da-f-]{36}$/);
  assert.is.not(claimsIn(await ticketOf(app, GRACE)).jti, jti);
  assert.ok(issued_ms > now * 1000);
  assert.equal(expires_at, new Date((now + 120) * 1000));
});

tickets('openTicket names the roles', async ({ app }) => {
  const rolesOf = async (email: string) => claimsIn(await ticketOf(app, email)).roles;

  assert.equal(await rolesOf(ROOT), ['superuser']);
  assert.equal(await rolesOf(STAFF), ['staff']);
  assert.equal(await rolesOf(ACME), ['client-admin']);
  assert.equal(await rolesOf(ADA), ['member']);
});

tickets('openTicket has the data permissions of the user, up to 64 KiB', async ({ app }) => {
  const extra = { regions: ['north'], note: 'ü"\u2028', long: 'x'.repeat(65_000) };
  await app.as(ACME).users.update({ email: GRACE, extra });

  assert.equal(claimsIn(await ticketOf(app, GRACE)).data_permissions, extra);
  await app.as(ACME).users.update({ email: GRACE, extra: {} });
  assert.is(claimsIn(await ticketOf(app, GRACE)).data_permissions, null);
});

tickets('openTicket names a stack that the app offers', async ({ app }) => {
  const [stack] = await app.as(GRACE).apps.stacks({ app_id: SALES });

  assert.is(claimsIn(await ticketOf(app, GRACE, stack?.slug)).stack, stack?.slug);
  await rejectsWith(ticketOf(app, GRACE, 'unknown'), 'not-found');
});

tickets('openTicket is refused to users who may not open the app', async ({ app }) => {
  const { message } = await rejectsWith(ticketOf(app, EDSGER), 'not-found');

  assert.is(message, 'No such app.');
  await rejectsWith(app.as(GRACE).apps.openTicket({ app_id: CHURN }), 'not-found');
  await rejectsWith(app.as(null).apps.openTicket({ app_id: SALES }), 'unauthenticated');
});

tickets('of views: are of a guest if the view has no user', async ({ app }) => {
  const selections = { year: 2026 };
  const { viewId, useId } = await usedView(app, { data_permissions: { region: 'north' }, selections });
  const claims = claimsIn(await ticketOfUse(app, useId));

  assert.equal([claims.sub, claims.email, claims.name], [`view:${viewId}`, null, null]);
  assert.equal([claims.roles, claims.access_view], [['guest'], viewId]);
  assert.equal([claims.data_permissions, claims.selections], [{ region: 'north' }, selections]);
  assert.equal([claims.show_header, claims.show_footer, claims.language_code], [true, false, 'de']);
});

tickets('of views: have the permissions of the view, or else of its user, or else none', async ({ app }) => {
  const claimsOf = async (view: Parameters<typeof usedView>[1]) =>
    claimsIn(await ticketOfUse(app, (await usedView(app, view)).useId));
  await app.as(ACME).users.update({ email: ADA, extra: { region: 'south' } });
  const [north, south] = [{ region: 'north' }, { region: 'south' }];

  assert.is((await claimsOf({ user: ADA, data_permissions: north })).sub, '@ada');
  for (const [view, expected] of [
    [{ user: ADA, data_permissions: north }, north],
    [{ user: ADA }, south],
    [{ user: ADA, data_permissions: {} }, south],
    [{ user: GRACE }, null],
    [{}, null],
  ] as const)
    assert.equal((await claimsOf(view)).data_permissions, expected);
});

tickets('of views: are refused once the view has ended, or has another user', async ({ app }) => {
  const refused = async (useId: number, appId = SALES) =>
    rejectsWith(ticketOfUse(app, useId, appId), 'not-found');
  const ended = await usedView(app, { expires_at: new Date(app.clock.now().getTime() + 1000) });
  await ticketOfUse(app, ended.useId);
  app.clock.advance(1000);
  await refused(ended.useId);

  for (const change of [{ is_active: false }, { user_id: null }]) {
    const { viewId, useId } = await usedView(app, { user: ADA });
    await ticketOfUse(app, useId);
    await setRows(app, 'access_views', { id: viewId }, change);
    await refused(useId);
  }
  await refused(ended.useId, CHURN);
});

tickets('introspect returns the claims of a ticket until its end', async ({ app }) => {
  const ticket = await ticketOf(app, GRACE);
  const expected = { active: true, ...claimsIn(ticket) };

  for (const who of [ROOT, STAFF, ACME])
    assert.equal(await app.as(who).tickets.introspect({ token: ticket }), expected, who);
  app.clock.advance(119_999);
  assert.ok(await isActive(app, ticket));
  app.clock.advance(1);
  assert.not.ok(await isActive(app, ticket));
});

tickets('introspect shows client admins their tickets only, and members none', async ({ app }) => {
  const ticket = await ticketOf(app, GRACE);

  assert.equal(await app.as(GLOBEX).tickets.introspect({ token: ticket }), { active: false });
  await rejectsWith(app.as(GRACE).tickets.introspect({ token: ticket }), 'forbidden');
  await rejectsWith(app.as(null).tickets.introspect({ token: ticket }), 'unauthenticated');
});

tickets('introspect says only that anything else is not active', async ({ app }) => {
  const ticket = await ticketOf(app, GRACE);
  const [head, body, signature = ''] = ticket.split('.');
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  const claims = claimsIn(ticket);
  const bad = {
    nothing: '',
    'no ticket': 'x',
    'a changed signature': `${head}.${body}.${signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`,
    'no signature': `${head}.${body}.`,
    'alg none': `${none}.${body}.`,
    'another issuer': await resign(app, ticket, { iss: 'https://elsewhere.test' }),
    'an unknown app': await resign(app, ticket, { aud: 'unknown' }),
    'another app': await resign(app, ticket, { aud: 'fleet' }),
    'an unknown user': await resign(app, ticket, { sub: '@unknown' }),
    'an unknown view': await resign(app, ticket, { access_view: 999_999 }),
    'its end': await resign(app, ticket, { exp: claims.iat }),
  };
  for (const [what, token] of Object.entries(bad))
    assert.equal(await app.as(ROOT).tickets.introspect({ token }), { active: false }, what);
  assert.ok(await isActive(app, await resign(app, ticket, {})), 'only the changed claim decides');
});

tickets('introspect ends with the view', async ({ app }) => {
  for (const user of [null, ADA]) {
    const { viewId, useId } = await usedView(app, { user });
    const ticket = await ticketOfUse(app, useId);
    assert.ok(await isActive(app, ticket));

    await setRows(app, 'access_views', { id: viewId }, { is_active: false });
    assert.not.ok(await isActive(app, ticket));
  }
});

tickets('introspect ends when the user of a view becomes a superuser', async ({ app }) => {
  const ticketOfView = async (by_superuser: boolean) =>
    ticketOfUse(app, (await usedView(app, { user: ADA, by_superuser })).useId);
  const [byAdmin, bySuperuser] = [await ticketOfView(false), await ticketOfView(true)];

  await app.as(ROOT).roles.update({ email: ADA, is_superuser: true });
  assert.equal([await isActive(app, byAdmin), await isActive(app, bySuperuser)], [false, true]);
  await app.as(ROOT).roles.update({ email: ADA, is_superuser: false });
  assert.ok(await isActive(app, byAdmin));
});

/** A ticket of the next millisecond is not revoked. */
const nextMillisecond = async (app: TestApp): Promise<void> => {
  const clock = sql<{ at: string }>`select date_trunc('milliseconds', clock_timestamp())::text as at`;
  const read = async () => (await clock.execute(app.db())).rows[0]?.at;
  const before = await read();
  await until('the clock of the database goes on', async () => (await read()) !== before);
};

/** Whether a statement waits for the lock of a row. */
const isWaiting = async (app: TestApp): Promise<boolean> => {
  const { rows } = await sql`
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(app.db());
  return rows.length > 0;
};

const revoking = appSuite('tickets.revoke');

revoking('ends the tickets of a user that were issued before, not those after', async ({ app }) => {
  const [before, other] = [await ticketOf(app, GRACE), await ticketOf(app, ADA)];

  await app.as(ACME).tickets.revoke({ user: GRACE });
  await nextMillisecond(app);
  const after = await ticketOf(app, GRACE);

  assert.is(claimsIn(before).iat, claimsIn(after).iat, 'issued in the same second');
  assert.equal([await isActive(app, before), await isActive(app, after)], [false, true]);
  assert.ok(await isActive(app, other));
});

revoking('ends tickets for an app, and all', async ({ app }) => {
  const sales = await ticketOf(app, GRACE);
  const churn = (await app.as(ADA).apps.openTicket({ app_id: CHURN })).ticket;

  await app.as(ACME).tickets.revoke({ app_id: SALES });
  assert.equal([await isActive(app, sales), await isActive(app, churn)], [false, true]);
  await app.as(ROOT).tickets.revoke({ all: true });
  assert.not.ok(await isActive(app, churn));
  await nextMillisecond(app);
  assert.ok(await isActive(app, await ticketOf(app, GRACE)));
});

revoking('ends the tickets, codes and embedded pages of a view', async ({ app }) => {
  const [revoked, kept] = [await openedView(app), await openedView(app)];
  const [of, ofOther] = [await ticketOfUse(app, revoked.useId), await ticketOfUse(app, kept.useId)];
  for (const { useId } of [revoked, kept]) {
    await createLaunchCode(app.orm.em.fork(), { kind: 'view', useId, appId: SALES }, app.clock.now());
  }

  await app.as(ACME).tickets.revoke({ access_view: String(revoked.viewId) });

  assert.equal([await isActive(app, of), await isActive(app, ofOther)], [false, true]);
  for (const table of ['embed_sessions', 'launch_codes'] as const)
    assert.equal(await valuesOf(app, table, 'access_view_use_id'), [kept.useId], table);
});

revoking('waits for uses of the view in flight, and ends what they open', async ({ app }) => {
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

  assert.equal(await rowsOf(app, 'embed_sessions', { digest }), []);
});

revoking('ends the launch codes of a user', async ({ app }) => {
  await app.db().deleteFrom('launch_codes').execute();
  await app.as(GRACE).apps.launch({ app_slug: 'sales' });
  await setRows(app, 'apps', { id: SALES }, { launch_url: 'https://sales.example.com/' });
  for (const who of [GRACE, ADA]) await app.as(who).apps.launch({ app_slug: 'sales' });

  await app.as(ROOT).tickets.revoke({ user: GRACE });

  assert.is((await rowsOf(app, 'launch_codes')).length, 1);
});

revoking('is limited to what the caller administers', async ({ app }) => {
  const { key } = await usedView(app);
  const globex = app.as(GLOBEX).tickets;

  await rejectsWith(globex.revoke({ user: GRACE }), 'not-found');
  await rejectsWith(globex.revoke({ app_id: SALES }), 'not-found');
  await rejectsWith(globex.revoke({ access_view: key }), 'not-found');
  await rejectsWith(globex.revoke({ all: true }), 'forbidden');
  await rejectsWith(globex.revoke({}), 'invalid-input');
  await rejectsWith(globex.revoke({ user: GRACE, app_id: SALES }), 'invalid-input');
  await rejectsWith(app.as(STAFF).tickets.revoke({ app_id: SALES }), 'forbidden');
  await rejectsWith(app.as(EDSGER).tickets.revoke({ user: EDSGER }), 'forbidden');
  // An administrator of another client, who can open the app.
  await app.as(ROOT).users.update({ email: EDSGER, apps: [SALES] });
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: EDSGER, is_admin: true });
  await rejectsWith(app.as(EDSGER).tickets.revoke({ app_id: SALES }), 'forbidden');
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: EDSGER, is_admin: false });
});

revoking('is in the audit trail, and kept once for each subject', async ({ app }) => {
  await app.as(ACME).tickets.revoke({ app_id: SALES });
  await app.as(ACME).tickets.revoke({ app_id: SALES });
  const entries = await app.as(ACME).audit.list({ action: 'ticket.revoke', target: 'sales' });
  assert.ok(entries.length >= 2);
  assert.equal([entries[0]?.actor, entries[0]?.clients], [ACME, [1]]);
  assert.is((await rowsOf(app, 'ticket_revocations', { app_id: SALES })).length, 1);
});

revoking('is deleted when no ticket is older', async ({ app }) => {
  const count = async () => (await rowsOf(app, 'ticket_revocations')).length;
  await app.as(ROOT).tickets.revoke({ all: true });
  const before = await count();
  // They have the time of the database.
  await setRows(app, 'ticket_revocations', {}, { revoked_at: app.clock.now() });

  app.clock.advance(599_000);
  await pruneTickets(app.orm.em.fork(), app.clock.now());
  assert.is(await count(), before);
  app.clock.advance(2_000);
  await pruneTickets(app.orm.em.fork(), app.clock.now());
  assert.is(await count(), 0);
});

tickets.run();
revoking.run();
