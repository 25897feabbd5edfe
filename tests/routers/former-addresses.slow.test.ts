import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createView, LAUNCH_URL, openView, setApp } from '../support/access-views.ts';
import { ACME, appSuite, GLOBEX, ROOT } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const former = appSuite('addresses of people who have left');

former('are not shown once they have changed, nor are the new ones', async ({ app }) => {
  const [root, acme] = [app.as(ROOT), app.as(ACME)];
  const [old, present, member] = ['leaver@acme.test', 'secret@globex.test', 'stays@acme.test'];
  await setApp(app, { launch_url: LAUNCH_URL });
  await acme.apps.update({ app_id: CHURN, is_requestable: true });
  await acme.users.create({ email: member, client: 1, send_email: false });
  await root.users.create({ email: old, first_name: 'Anna', apps: [SALES, FLEET], send_email: false });
  await root.roles.setClientAdmin({ id: 1, email: old, is_admin: true });
  const admin = app.as(old);
  await openView(app, (await createView(app, { user: old })).key);
  await acme.usage.record({ app_id: SALES, entries: [{ email: old, action: 'OPEN' }] });
  await admin.grants.create({ app_id: SALES, email: member });
  const group = await admin.groups.create({ id: 1, name: 'Team', members: [member], apps: [CHURN] });
  const [invitation] = await admin.invitations.create({ items: [{ email: 'guest@x.test', client: 1 }] });
  await root.roles.setClientAdmin({ id: 1, email: old, is_admin: false });
  await acme.memberships.remove({ id: 1, email: old });
  app.clock.advance(DAY_MS);
  await root.users.changeEmail({ email: old, new_email: present });

  const [view] = await acme.accessViews.list({});
  const shown = (await acme.clients.invitations({ id: 1 })).find(({ id }) => id === invitation?.id)?.user;
  const read = JSON.stringify([
    view,
    await acme.accessViews.uses({ key: view?.key ?? '' }),
    await acme.usage.top({ app_id: SALES }),
    await acme.grants.list({ app_id: SALES }),
    await acme.access.explain({ email: member, app_id: SALES }),
    await acme.access.explain({ email: member, app_id: CHURN }),
    await acme.access.effective({ app_id: SALES }),
    await acme.groups.get({ id: 1, group_id: group.id }),
    await acme.mail.list({}),
    await acme.mail.timeline({ email: old }),
    shown,
  ]);

  assert.not.match(read, /secret|Anna/);
  assert.is(view?.user, '', 'null is a guest');
  assert.equal(await acme.accessViews.list({ user: present }), []);
  assert.is((await root.accessViews.list({ user: present })).length, 1);
  assert.is((await app.as(GLOBEX).users.get({ email: present })).email, present);
});

former.run();
