import * as assert from 'uvu/assert';
import {
  claimsIn,
  isActive,
  resign,
  setApp,
  setClient,
  ticketOf,
  usedView,
} from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, STAFF } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const introspection = appSuite('tickets.introspect');

introspection('returns the claims of a valid ticket', async ({ app }) => {
  const ticket = await ticketOf(app, GRACE);
  const expected = { active: true, ...claimsIn(ticket) };

  for (const who of [ROOT, STAFF, ACME])
    assert.equal(await app.as(who).tickets.introspect({ token: ticket }), expected, who);
});

introspection('takes forms, as RFC 7662 requires', async ({ app }) => {
  const response = await app.send('POST /gate/introspect/', {
    as: STAFF,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ token: await ticketOf(app, GRACE) }).toString(),
  });

  assert.is(response.json().active, true);
  assert.is(response.json().email, GRACE);
});

introspection(
  'shows client admins tickets of the apps of their clients only, and members none',
  async ({ app }) => {
    const ticket = await ticketOf(app, GRACE);

    assert.equal(await app.as(GLOBEX).tickets.introspect({ token: ticket }), { active: false });
    await rejectsWith(app.as(GRACE).tickets.introspect({ token: ticket }), 'forbidden');
    await rejectsWith(app.as(null).tickets.introspect({ token: ticket }), 'unauthenticated');
  },
);

introspection('says only that anything else is not active', async ({ app }) => {
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

introspection('ends with the ticket', async ({ app }) => {
  const ticket = await ticketOf(app, GRACE);

  app.clock.advance(119_999);
  assert.ok(await isActive(app, ticket));
  app.clock.advance(1);
  assert.not.ok(await isActive(app, ticket));
});

introspection('decides access again', async ({ app }) => {
  const admin = app.as(ACME);
  const ticket = await ticketOf(app, GRACE);
  const { apps } = await admin.users.get({ email: GRACE });

  await admin.users.update({ email: GRACE, is_active: false });
  assert.not.ok(await isActive(app, ticket), 'deactivated');
  await admin.users.update({ email: GRACE, is_active: true, apps: [] });
  assert.not.ok(await isActive(app, ticket), 'lost the app');
  await admin.users.update({ email: GRACE, apps });
  await setApp(app, { in_maintenance: true });
  assert.not.ok(await isActive(app, ticket), 'maintenance');
  await setApp(app, { in_maintenance: false });
  await setClient(app, 1, false);
  assert.not.ok(await isActive(app, ticket), 'closed client');
  await setClient(app, 1, true);
  assert.ok(await isActive(app, ticket));
});

introspection('ends with the view', async ({ app }) => {
  for (const user of [null, ADA]) {
    const { viewId, useId } = await usedView(app, { user });
    const { tickets } = app.openServices();
    const { ticket } = await tickets.issueTicket({ kind: 'view', useId, appId: SALES });
    assert.ok(await isActive(app, ticket));

    await app.db().updateTable('access_views').set({ is_active: false }).where('id', '=', viewId).execute();
    assert.not.ok(await isActive(app, ticket));
  }
});

introspection(
  'ends when the user of a view becomes a superuser, unless a superuser created it',
  async ({ app }) => {
    const ticketOfView = async (by_superuser: boolean) => {
      const { useId } = await usedView(app, { user: ADA, by_superuser });
      return (await app.openServices().tickets.issueTicket({ kind: 'view', useId, appId: SALES })).ticket;
    };
    const [byAdmin, bySuperuser] = [await ticketOfView(false), await ticketOfView(true)];

    await app.as(ROOT).roles.update({ email: ADA, is_superuser: true });
    assert.equal([await isActive(app, byAdmin), await isActive(app, bySuperuser)], [false, true]);
    await app.as(ROOT).roles.update({ email: ADA, is_superuser: false });
    assert.ok(await isActive(app, byAdmin));
  },
);

introspection.run();
