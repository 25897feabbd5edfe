import * as assert from 'uvu/assert';
import { claimsIn, setApp, setClient, ticketOf, usedView } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, ROOT, STAFF } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const tickets = appSuite('apps.openTicket');

tickets('says who opens which app', async ({ app }) => {
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
    data_permissions: null,
    selections: {},
    is_demo_user: false,
    access_view: null,
    show_header: true,
    show_footer: true,
    language_code: '',
    amr: [],
    auth_time: null,
    exp: now + 120,
  });
  assert.is(iat, now);
  assert.match(jti, /^[\da-f-]{36}$/);
  assert.ok(issued_ms > now * 1000);
  assert.equal(expires_at, new Date((now + 120) * 1000));
});

tickets('names the roles', async ({ app }) => {
  const rolesOf = async (email: string) => claimsIn(await ticketOf(app, email)).roles;

  assert.equal(await rolesOf(ROOT), ['superuser']);
  assert.equal(await rolesOf(STAFF), ['staff']);
  assert.equal(await rolesOf(ACME), ['client-admin']);
  assert.equal(await rolesOf(ADA), ['member']);
});

tickets('has the data permissions of the user, up to 64 KiB', async ({ app }) => {
  const extra = { regions: ['north'], note: 'ü"\u2028', long: 'x'.repeat(65_000) };
  await app.as(ACME).users.update({ email: GRACE, extra });

  assert.equal(claimsIn(await ticketOf(app, GRACE)).data_permissions, extra);
  await app.as(ACME).users.update({ email: GRACE, extra: {} });
  assert.is(claimsIn(await ticketOf(app, GRACE)).data_permissions, null);
});

tickets('names a stack that the app offers', async ({ app }) => {
  const [stack] = await app.as(GRACE).apps.stacks({ app_id: SALES });

  assert.is(claimsIn(await ticketOf(app, GRACE, stack?.slug)).stack, stack?.slug);
  await rejectsWith(ticketOf(app, GRACE, 'unknown'), 'not-found');
});

tickets('is refused to users who may not open the app', async ({ app }) => {
  const { message } = await rejectsWith(ticketOf(app, EDSGER), 'not-found');

  assert.is(message, 'No such app.');
  await rejectsWith(app.as(GRACE).apps.openTicket({ app_id: CHURN }), 'not-found');
  await rejectsWith(app.as(null).apps.openTicket({ app_id: SALES }), 'unauthenticated');
});

tickets('is refused to all users while the app is in maintenance', async ({ app }) => {
  await setApp(app, { in_maintenance: true });

  for (const email of [ADA, ACME, ROOT]) {
    const { status } = await rejectsWith(ticketOf(app, email), 'app-in-maintenance');
    assert.is(status, 503);
  }
  await setApp(app, { in_maintenance: false });
});

tickets('is refused while the client is closed, which only administrators learn', async ({ app }) => {
  await setClient(app, 1, false);

  await rejectsWith(ticketOf(app, ADA), 'not-found');
  for (const email of [ACME, STAFF, ROOT]) await rejectsWith(ticketOf(app, email), 'client-closed');
  await setClient(app, 1, true);
});

tickets('has its own id each time', async ({ app }) => {
  const [one, other] = [await ticketOf(app, ADA), await ticketOf(app, ADA)];

  assert.is.not(claimsIn(one).jti, claimsIn(other).jti);
});

tickets('is served over REST, and not kept by caches', async ({ app }) => {
  const response = await app.send(`POST /jb/apps/${SALES}/ticket/`, { as: GRACE });

  assert.is(response.statusCode, 200);
  assert.is(response.headers['cache-control'], 'no-store');
  assert.is(claimsIn(response.json().ticket).email, GRACE);
});

tickets.run();

const views = appSuite('tickets of access views');

views('are of a guest if the view has no user', async ({ app }) => {
  const selections = { year: 2026 };
  const { viewId, useId } = await usedView(app, { data_permissions: { region: 'north' }, selections });
  const { ticket } = await app.openServices().tickets.issueTicket({ kind: 'view', useId, appId: SALES });
  const claims = claimsIn(ticket);

  assert.equal([claims.sub, claims.email, claims.name], [`view:${viewId}`, null, null]);
  assert.equal([claims.roles, claims.access_view], [['guest'], viewId]);
  assert.equal([claims.data_permissions, claims.selections], [{ region: 'north' }, selections]);
  assert.equal([claims.show_header, claims.show_footer, claims.language_code], [true, false, 'de']);
});

views('have the permissions of the view, or else of its user, or else none', async ({ app }) => {
  const permissionsOf = async (view: Parameters<typeof usedView>[1]) => {
    const { useId } = await usedView(app, view);
    const { tickets } = app.openServices();
    return claimsIn((await tickets.issueTicket({ kind: 'view', useId, appId: SALES })).ticket);
  };
  await app.as(ACME).users.update({ email: ADA, extra: { region: 'south' } });

  const ofView = await permissionsOf({ user: ADA, data_permissions: { region: 'north' } });
  assert.equal([ofView.sub, ofView.data_permissions], ['@ada', { region: 'north' }]);
  assert.equal((await permissionsOf({ user: ADA })).data_permissions, { region: 'south' });
  assert.equal((await permissionsOf({ user: ADA, data_permissions: {} })).data_permissions, {
    region: 'south',
  });
  assert.is((await permissionsOf({ user: GRACE })).data_permissions, null);
  assert.is((await permissionsOf({})).data_permissions, null);
});

views('are refused once the view has ended, or opens the app as another user', async ({ app }) => {
  const { tickets } = app.openServices();
  const issue = (useId: number) => tickets.issueTicket({ kind: 'view', useId, appId: SALES });
  const change = (id: number, changes: object) =>
    app.db().updateTable('access_views').set(changes).where('id', '=', id).execute();

  const ended = await usedView(app, { expires_at: new Date(app.clock.now().getTime() + 1000) });
  await issue(ended.useId);
  app.clock.advance(1000);
  await rejectsWith(issue(ended.useId), 'not-found');

  const revoked = await usedView(app, { user: ADA });
  await issue(revoked.useId);
  await change(revoked.viewId, { is_active: false });
  await rejectsWith(issue(revoked.useId), 'not-found');

  const other = await usedView(app, { user: ADA });
  await change(other.viewId, { user_id: null });
  await rejectsWith(issue(other.useId), 'not-found');
  await rejectsWith(tickets.issueTicket({ kind: 'view', useId: ended.useId, appId: CHURN }), 'not-found');
});

views(
  'are refused for users who are deactivated or have lost the app, and for closed clients',
  async ({ app }) => {
    const { tickets } = app.openServices();
    const { useId } = await usedView(app, { user: ADA });
    const guest = await usedView(app);
    const issue = (id: number) => tickets.issueTicket({ kind: 'view', useId: id, appId: SALES });

    await app.as(ACME).users.update({ email: ADA, is_active: false });
    await rejectsWith(issue(useId), 'not-found');
    await app.as(ACME).users.update({ email: ADA, is_active: true, apps: [] });
    await rejectsWith(issue(useId), 'not-found');
    await app.as(ACME).users.update({ email: ADA, apps: [SALES] });
    await issue(useId);
    await setClient(app, 1, false);
    await rejectsWith(issue(useId), 'client-closed');
    await rejectsWith(issue(guest.useId), 'client-closed');
    await setClient(app, 1, true);
  },
);

views.run();
