import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createView, LAUNCH_URL, openView, setApp } from '../support/access-views.ts';
import { ACME, appSuite, EDSGER, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const former = appSuite('addresses of people who have left');

const OLD = 'leaver@acme.test';
const NEW = 'secret@globex.test';

former.before(async ({ app }) => {
  await setApp(app, { launch_url: LAUNCH_URL });
  await app.as(ROOT).users.create({ email: OLD, apps: [SALES, FLEET], send_email: false });
  const { key } = await createView(app, { user: OLD });
  await openView(app, key);
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: OLD, action: 'OPEN', extra: {} }] });
  const bulk = { emails: [OLD], action: 'revoke-apps' as const, apps: [SALES] };
  const { operation } = await app.as(ACME).users.bulkUpdate(bulk);
  operations.set(app, operation);
  await app.as(ACME).memberships.remove({ id: 1, email: OLD });
  app.clock.advance(DAY_MS);
  await app.as(ROOT).users.changeEmail({ email: OLD, new_email: NEW });
  app.clock.advance(-DAY_MS);
});

const operations = new WeakMap<TestApp, string>();

/** What an admin can read of the person, as text. */
const readAll = async (app: TestApp, as: string): Promise<string> =>
  JSON.stringify([
    await app.as(as).usage.top({ app_id: SALES }),
    await app.as(as).accessViews.list({}),
    await app.as(as).accessViews.list({ user: OLD }),
    (await app.send('GET /jb/access_views/', { as })).body,
    (await app.send('GET /jb/access_views/?app=sales&format=csv', { as })).body,
  ]);

former('are not shown after a change, nor is the new one', async ({ app }) => {
  const read = await readAll(app, ACME);
  assert.not.ok(read.includes(NEW));
  assert.is((await app.as(ACME).accessViews.list({ user: NEW })).length, 0);
  const [view] = await app.as(ACME).accessViews.list({});
  const uses = await app.as(ACME).accessViews.uses({ key: view?.key ?? '' });
  assert.equal([view?.user, uses[0]?.user_email], ['', ''], 'null is a guest');
  const { skipped } = await app.as(ACME).operations.undo({ id: operations.get(app) ?? '' });
  assert.equal(
    skipped.map(({ email }) => email),
    [''],
  );
});

former('are the present ones for those who see the person', async ({ app }) => {
  assert.ok((await readAll(app, ROOT)).includes(NEW));
  assert.is((await app.as(GLOBEX).users.get({ email: NEW })).email, NEW);
  assert.is((await app.as(ROOT).accessViews.list({ user: NEW })).length, 1);
});

former('of an inviter are shown without the rest of the account', async ({ app }) => {
  const inviter = 'admin-who-left@acme.test';
  const [root, acme] = [app.as(ROOT), app.as(ACME)];
  await root.users.create({ email: inviter, first_name: 'Anna', apps: [SALES, FLEET], send_email: false });
  await root.roles.setClientAdmin({ id: 1, email: inviter, is_admin: true });
  const items = [
    { email: 'guest@x.test', client: 1 },
    { email: EDSGER, client: 1 },
  ];
  const [invitation] = await app.as(inviter).invitations.create({ items });
  await root.roles.setClientAdmin({ id: 1, email: inviter, is_admin: false });
  await acme.memberships.remove({ id: 1, email: inviter });
  app.clock.advance(DAY_MS);
  await root.users.changeEmail({ email: inviter, new_email: 'anna@globex.test' });
  await root.users.update({ email: 'anna@globex.test', first_name: 'Secret', is_demo_user: true });

  const listed = await acme.clients.invitations({ id: 1 });
  const shown = listed.find(({ id }) => id === invitation?.id)?.user;
  assert.equal(
    [shown?.email, shown?.first_name, shown?.is_active, shown?.is_demo_user],
    ['', '', false, false],
  );
  const all = await root.clients.invitations({ id: 1 });
  assert.is(all.find(({ id }) => id === invitation?.id)?.user.first_name, 'Secret');
});

former(
  'of an admin are not shown in what they granted and decided, and no name on the pages of their invitations',
  async ({ app }) => {
    const [root, acme] = [app.as(ROOT), app.as(ACME)];
    const [admin, person] = ['granter@acme.test', 'granted@acme.test'];
    await root.users.create({ email: admin, first_name: 'Grit', apps: [SALES, FLEET], send_email: false });
    await root.roles.setClientAdmin({ id: 1, email: admin, is_admin: true });
    await acme.users.create({ email: person, client: 1, send_email: false });
    await app.as(admin).grants.create({ app_id: SALES, email: person });
    const group = await app
      .as(admin)
      .groups.create({ id: 1, name: 'Of Grit', members: [person], apps: [CHURN] });
    const [invitation] = await app
      .as(admin)
      .invitations.create({ items: [{ email: 'seen@x.test', client: 1 }] });
    await root.roles.setClientAdmin({ id: 1, email: admin, is_admin: false });
    await acme.memberships.remove({ id: 1, email: admin });
    app.clock.advance(DAY_MS);
    await root.users.changeEmail({ email: admin, new_email: NEW.replace('secret', 'other-secret') });

    const signature =
      new URL(app.links.invitation(invitation?.key ?? '')).searchParams.get('signature') ?? '';
    const page = await app.as(null).invitations.preview({ key: invitation?.key ?? '', signature });
    assert.is(page.inviter_name, '');
    const read = JSON.stringify([
      await acme.grants.list({ app_id: SALES }),
      await acme.access.explain({ email: person, app_id: SALES }),
      await acme.access.explain({ email: person, app_id: CHURN }),
      await acme.access.listByUser({ email: person }),
      await acme.access.effective({ app_id: SALES }),
      await acme.groups.get({ id: 1, group_id: group.id }),
    ]);
    assert.not.ok(read.includes('other-secret'));
  },
);

former('stay in the mails and invitations that the client had for a person', async ({ app }) => {
  const [root, acme] = [app.as(ROOT), app.as(ACME)];
  const [old, present] = ['asked@acme.test', 'asked-secret@globex.test'];
  await acme.apps.update({ app_id: CHURN, is_requestable: true });
  const [invitation] = await acme.invitations.create({ items: [{ email: old, client: 1 }] });
  await acme.invitations.revoke({ id: invitation?.id ?? 0 });
  await root.users.create({ email: old, apps: [SALES, FLEET], send_email: false });
  const request = await app.as(old).requests.create({ app: CHURN });
  await acme.requests.deny({ id: request.id, version: request.version, reason: 'No' });
  await acme.memberships.remove({ id: 1, email: old });
  await root.users.changeEmail({ email: old, new_email: present });

  const kept = JSON.stringify([
    await acme.mail.list({}),
    await acme.mail.timeline({ email: old }),
    await acme.invitations.search({ status: 'all' }),
  ]);
  assert.ok(kept.includes(old));
  assert.not.ok(kept.includes(present));
});

former.run();
