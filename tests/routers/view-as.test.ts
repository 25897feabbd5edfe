import * as assert from 'uvu/assert';
import { createAudit, NO_ORIGIN } from '../../src/services/audit/audit.ts';
import { createLaunchCode } from '../../src/services/gate/launches.ts';
import { closeLooks } from '../../src/services/gate/looks.ts';
import { claimsIn, isActive, resign, userId } from '../support/access-views.ts';
import { fieldsOf } from '../support/lists.ts';
import { beginLook, openedLook, sessionOf } from '../support/looks.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, rowsOf, setRows, valuesOf } from '../support/rows.ts';
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

const URLS = { APP_URL: 'http://apps.test/{slug}/' };
const MINUTE_MS = 60_000;

const looks = appSuite('users.viewAs', URLS);

const entriesOf = async (app: TestApp, action: string) =>
  fieldsOf(await rowsOf(app, 'audit_entries', { action }), 'actor_label', 'target_label', 'details');

looks('begins a look, which the audit trail records with the reason', async ({ app }) => {
  const acme = await sessionOf(app, ACME);
  const { url, id, ends_at } = await beginLook(acme, { minutes: 7 });

  assert.match(url, new RegExp(`^http://localhost:8000/view-as/${id}/open/[\\w-]{43}/$`));
  assert.equal(ends_at, new Date(app.clock.now().getTime() + 7 * MINUTE_MS));
  const viewer = await userId(app, ACME);
  const details = { id, app: SALES, viewer, reason: 'Ticket 4711' };
  assert.equal(await entriesOf(app, 'user.view-as-begin'), [[ACME, GRACE, { ...details, minutes: 7 }]]);

  await acme.self.users.endViewAs({ id });
  await acme.self.users.endViewAs({ id });
  assert.equal(await entriesOf(app, 'user.view-as-end'), [[ACME, GRACE, details]]);
});

looks('needs a browser session that was recently confirmed', async ({ app }) => {
  await rejectsWith(beginLook({ self: app.as(ACME) }), 'forbidden');
  const acme = await sessionOf(app, ACME);
  app.clock.advance(16 * MINUTE_MS);
  await rejectsWith(beginLook(acme), 'reauthentication-required');
});

looks('is for admins of the client and superusers', async ({ app }) => {
  for (const [email, code] of [
    [STAFF, 'forbidden'],
    [GRACE, 'forbidden'],
    [GLOBEX, 'not-found'],
  ] as const)
    await rejectsWith(beginLook(await sessionOf(app, email), { email: ADA }), code);
  await rejectsWith(beginLook(await sessionOf(app, ACME), { app: FLEET }), 'not-found');
  assert.ok((await beginLook(await sessionOf(app, ROOT))).id > 0);
});

looks(
  'is never as superusers, staff, stronger people or oneself, nor as people who may not open the app',
  async ({ app }) => {
    const [root, acme] = [await sessionOf(app, ROOT), await sessionOf(app, ACME)];
    for (const email of [STAFF, ROOT, EDSGER, IDLE])
      await rejectsWith(beginLook(root, { email }), 'forbidden');
    await rejectsWith(beginLook(acme, { email: ACME }), 'forbidden');
    await rejectsWith(beginLook(acme, { app: CHURN }), 'forbidden');
    await setRows(app, 'clients', { id: 1 }, { is_open: false });
    await rejectsWith(beginLook(acme), 'forbidden');
    await setRows(app, 'clients', { id: 1 }, { is_open: true });
    const { address } = await app
      .as(ROOT)
      .serviceAccounts.create({ name: 'Sync', client: 1, roles: ['client-admin'] });
    await rejectsWith(beginLook(root, { email: address }), 'not-found');
  },
);

looks('is only for apps whose package heeds it', async ({ app }) => {
  await setRows(app, 'apps', { id: SALES }, { view_as: false });
  const acme = await sessionOf(app, ACME);

  assert.is((await rejectsWith(beginLook(acme), 'view-as-unsupported')).status, 400);
  assert.equal(await acme.self.users.viewableApps({ email: GRACE }), []);
  await setRows(app, 'apps', { id: SALES }, { view_as: true });
  assert.equal(await acme.self.users.viewableApps({ email: GRACE }), [
    { id: SALES, slug: 'sales', label: 'Sales' },
  ]);
});

looks('demands the second factors that the client requires of the person who looks', async ({ app }) => {
  await setFactorPolicy(app, 1, { policy: 'required' });

  await rejectsWith(beginLook(await sessionOf(app, ROOT)), 'second-factor-required');
  await setFactorPolicy(app, 1, { policy: 'off' });
});

/** A ticket of an opened look. */
const ticketOf = async (app: TestApp, location: unknown): Promise<string> => {
  const code = new URL(String(location)).searchParams.get('code') ?? '';
  return (await app.as(null).tickets.exchange({ code, app: 'sales' })).ticket;
};

looks(
  'gives tickets of the person that name the actor, are read-only and end with the look',
  async ({ app }) => {
    await app.as(ACME).users.update({ email: GRACE, extra: { region: ['North'] } });
    const { self, look, opened } = await openedLook(app, { minutes: 1 });
    app.clock.advance(30_000);
    const ticket = await ticketOf(app, opened.headers.location);
    const claims = claimsIn(ticket);

    assert.equal([claims.email, claims.sub, claims.roles], [GRACE, '@grace', ['member']]);
    assert.equal(claims.data_permissions, { region: ['North'] });
    assert.equal([claims.act?.email, claims.read_only, claims.amr], [ACME, true, ['pwd']]);
    assert.is(claims.exp, look.ends_at.getTime() / 1000);
    assert.is(await isActive(app, ticket), true);
    await self.users.endViewAs({ id: look.id });
    assert.is(await isActive(app, ticket), false);
  },
);

looks('writes no use, and no login of the person', async ({ app }) => {
  const before = [await rowsOf(app, 'usage_entries'), await rowsOf(app, 'users', { email: GRACE })];
  const { opened } = await openedLook(app);
  await ticketOf(app, opened.headers.location);

  assert.equal([await rowsOf(app, 'usage_entries'), await rowsOf(app, 'users', { email: GRACE })], before);
});

/** What ends a look while it runs, and what restores the demo. */
const ENDS: Record<
  string,
  [end: (app: TestApp) => Promise<unknown>, restore: (app: TestApp) => Promise<unknown>]
> = {
  'the person is deactivated': [
    (app) => setRows(app, 'users', { email: GRACE }, { is_active: false }),
    (app) => setRows(app, 'users', { email: GRACE }, { is_active: true }),
  ],
  'the person loses the app': [
    (app) => app.as(ACME).users.update({ email: GRACE, apps: [] }),
    (app) => app.as(ACME).users.update({ email: GRACE, apps: [SALES] }),
  ],
  'the person becomes staff': [
    (app) => setRows(app, 'users', { email: GRACE }, { is_staff: true }),
    (app) => setRows(app, 'users', { email: GRACE }, { is_staff: false }),
  ],
  'the actor is deactivated': [
    (app) => setRows(app, 'users', { email: ACME }, { is_active: false }),
    (app) => setRows(app, 'users', { email: ACME }, { is_active: true }),
  ],
  'the actor loses the role': [
    (app) => setRows(app, 'memberships', { client_id: 1, is_admin: true }, { is_admin: false }),
    async (app) => setRows(app, 'memberships', { user_id: await userId(app, ACME) }, { is_admin: true }),
  ],
  'the app does not heed it any more': [
    (app) => setRows(app, 'apps', { id: SALES }, { view_as: false }),
    (app) => setRows(app, 'apps', { id: SALES }, { view_as: true }),
  ],
  'the session of the actor ends': [
    async (app) =>
      app
        .db()
        .deleteFrom('sessions')
        .where('user_id', '=', await userId(app, ACME))
        .execute(),
    async () => {},
  ],
  'its minutes have passed': [async (app) => app.clock.advance(10 * MINUTE_MS), async () => {}],
};

for (const [what, [end, restore]] of Object.entries(ENDS))
  looks(`ends when ${what}`, async ({ app }) => {
    const { look } = await openedLook(app);
    const em = app.orm.em.fork();
    const ids = { lookId: look.id, actorId: await userId(app, ACME), appId: SALES };
    const code = await createLaunchCode(em, { kind: 'look', ...ids }, app.clock.now());
    const { ticket } = await app.as(null).tickets.exchange({ code, app: 'sales' });
    const later = await resign(app, ticket, { exp: claimsIn(ticket).exp + 3600 });
    assert.is(await isActive(app, later), true);

    await end(app);
    assert.is(await isActive(app, later), false);
    await restore(app);
  });

looks('is shown to the person, who may end it, and to no other member', async ({ app }) => {
  const { look } = await openedLook(app);
  const shown = await app.as(GRACE).profile.viewedAs({ limit: 1 });

  assert.equal(fieldsOf(shown, 'id', 'actor', 'app_label', 'reason', 'ended_at'), [
    [look.id, ACME, 'Sales', 'Ticket 4711', null],
  ]);
  assert.equal(await app.as(ADA).profile.viewedAs({}), []);
  for (const other of [ADA, GLOBEX, STAFF])
    await rejectsWith(app.as(other).users.endViewAs({ id: look.id }), 'not-found');
  const ids = async (email: string) => (await app.as(email).users.listViewAs({})).map(({ id }) => id);
  assert.equal([(await ids(GRACE))[0], (await ids(ACME))[0], await ids(ADA)], [look.id, look.id, []]);
  await app.as(GRACE).users.endViewAs({ id: look.id });
  assert.equal((await app.as(GRACE).profile.viewedAs({ limit: 1 }))[0]?.ended_at, app.clock.now());
});

looks('mails the person if the client wants it', async ({ app }) => {
  const mails = () => rowsOf(app, 'outbox_mails', { kind: 'viewed-as' });
  assert.equal(await mails(), []);
  await app.as(ACME).clients.update({ id: 1, mail_view_as: true });
  await openedLook(app);

  const { text } = await app
    .as(ROOT)
    .mail.get({ id: (await rowOf(app, 'outbox_mails', { kind: 'viewed-as' })).id });
  assert.match(text, `${ACME} looked at Sales as ${GRACE} at Acme Analytics`);
  assert.match(text, 'Reason: Ticket 4711');
  await app.as(ACME).clients.update({ id: 1, mail_view_as: false });
});

looks('records its end by the clock, without an actor', async ({ app }) => {
  const { look } = await openedLook(app, { minutes: 1 });
  app.clock.advance(MINUTE_MS);
  await closeLooks(app.orm.em.fork(), createAudit(NO_ORIGIN, app.clock), app.clock.now(), 0);

  const ended = (await entriesOf(app, 'user.view-as-end')).at(-1);
  assert.equal([ended?.[0], ended?.[1], Reflect.get(Object(ended?.[2]), 'id')], ['', GRACE, look.id]);
  assert.equal(await valuesOf(app, 'view_as', 'ended_at', { id: look.id }), [look.ends_at]);
});

looks('is erased with the person', async ({ app }) => {
  await openedLook(app, { email: ADA });
  const user_id = await userId(app, ADA);
  assert.is((await rowsOf(app, 'view_as', { user_id })).length, 1);
  const { confirmation } = await app.as(ROOT).users.previewErasure({ email: ADA });
  await app.as(ROOT).users.erase({ email: ADA, confirmation, confirm_email: ADA });

  assert.equal(await rowsOf(app, 'view_as', { user_id }), []);
});

looks.run();
