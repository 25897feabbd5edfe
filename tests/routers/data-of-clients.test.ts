import * as assert from 'uvu/assert';
import { claimsIn, setClient } from '../support/access-views.ts';
import { inviteByLink } from '../support/mails.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const data = appSuite('data that a client has set for a person');

const EXTRA = { region: 'of-globex' };

let created = 0;
/** A member of Globex with data of it. */
const addPerson = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `person-${created}@globex.test`;
  await app.as(GLOBEX).users.create({ email, apps: [FLEET], extra: EXTRA, is_demo_user: true });
  return email;
};

const claimsOf = async (app: TestApp, email: string, appId: string) => {
  const { ticket } = await app.as(email).apps.openTicket({ app_id: appId });
  const { data_permissions, is_demo_user } = claimsIn(ticket);
  return { data_permissions, is_demo_user };
};

/** How a superuser brings a person into Acme. */
const WAYS: Record<string, (app: TestApp, email: string) => Promise<unknown>> = {
  'a grant': (app, email) => app.as(ROOT).grants.create({ app_id: SALES, email }),
  'their apps': (app, email) => app.as(ROOT).users.update({ email, apps: [FLEET, SALES] }),
  'a bulk change': (app, email) =>
    app.as(ROOT).users.bulkUpdate({ emails: [email], action: 'grant-apps', apps: [SALES] }),
  'the matrix': (app, email) =>
    app.as(ROOT).access.update({ id: 1, cells: [{ email, app_id: SALES, granted: true }] }),
  'the role of an admin': (app, email) => app.as(ROOT).roles.setClientAdmin({ id: 1, email, is_admin: true }),
};

for (const [way, join] of Object.entries(WAYS))
  data(`is not brought to another client by ${way}`, async ({ app }) => {
    const email = await addPerson(app);
    await join(app, email);

    const seen = await app.as(ACME).users.get({ email });
    assert.equal([seen.extra, seen.is_demo_user], [{}, false]);
    const ofSales = await claimsOf(app, email, SALES);
    assert.not.match(JSON.stringify(ofSales), 'of-globex');
    assert.is(ofSales.is_demo_user, false);
    assert.equal(await claimsOf(app, email, FLEET), { data_permissions: EXTRA, is_demo_user: true });
  });

data('ends when its membership is the last one that ends', async ({ app }) => {
  const email = await addPerson(app);
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  await app.as(ROOT).users.update({ email, is_active: true });
  const { path } = await inviteByLink(app, { email, apps: [SALES], by: ROOT });
  const [, key = '', signature = ''] = /invitation\/(.+)\/\?signature=(.+)$/.exec(path) ?? [];
  await app.as(email).invitations.accept({ key, signature });

  const seen = await app.as(ACME).users.get({ email });
  assert.equal([seen.extra, seen.is_demo_user], [{}, false]);
});

data('ends when the undo of an operation ends the last membership', async ({ app }) => {
  const email = await addPerson(app);
  const root = app.as(ROOT);
  const { operation } = await root.users.bulkUpdate({ emails: [email], action: 'grant-apps', apps: [SALES] });
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  await root.operations.undo({ id: operation });

  const left = await root.users.get({ email });
  assert.equal([left.extra, left.is_demo_user], [{}, false]);
});

data('is not in the tickets of staff for apps of clients that they do not belong to', async ({ app }) => {
  const email = await addPerson(app);
  await app.as(ROOT).roles.update({ email, is_staff: true });

  assert.equal(await claimsOf(app, email, SALES), { data_permissions: null, is_demo_user: false });
  assert.equal(await claimsOf(app, email, FLEET), { data_permissions: EXTRA, is_demo_user: true });
});

data('of an invitation counts for a person whose other client has ended', async ({ app }) => {
  const email = await addPerson(app);
  await app.as(ROOT).grants.create({ app_id: SALES, email });
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  await app.as(ACME).memberships.update({ id: 1, email, is_active: false });
  await app.as(ROOT).users.update({ email, is_active: true });
  const [invitation] = await app
    .as(ACME)
    .invitations.create({ items: [{ email, client: 1, initial_apps: [SALES], extra: { region: 'north' } }] });
  const { url } = await app.as(ROOT).invitations.copyLink({ id: invitation?.id ?? 0 });
  const [, key = '', signature = ''] = /invitation\/(.+)\/\?signature=(.+)$/.exec(url) ?? [];
  await app.as(email).invitations.accept({ key, signature });

  assert.equal((await app.as(ACME).users.get({ email })).extra, { region: 'north' });
  assert.equal((await claimsOf(app, email, SALES)).data_permissions, { region: 'north' });
});

data('ends with the client, if the person belongs to no other, also for staff', async ({ app }) => {
  const { id: site } = await app.as(ROOT).sites.create({ name: 'Short-lived', domain: 'short.example.com' });
  const client = await app.as(ROOT).clients.create({ name: 'Short-lived', site });
  const email = 'of-short-lived@x.test';
  await app.as(ROOT).users.create({ email, client: client.id, extra: EXTRA, is_demo_user: true });
  const staff = 'staff-of-short-lived@x.test';
  await app.as(ROOT).users.create({ email: staff, client: client.id, extra: EXTRA, is_demo_user: true });
  await app.as(ROOT).roles.update({ email: staff, is_staff: true });
  await setClient(app, client.id, false);
  await app.as(ROOT).clients.remove({ id: client.id, confirm_name: 'Short-lived' });

  for (const one of [email, staff]) {
    const left = await app.as(ROOT).users.get({ email: one });
    assert.equal([left.extra, left.is_demo_user], [{}, false], one);
  }
});

data('of the first client counts in all apps that a superuser gives at once', async ({ app }) => {
  const email = 'of-both@x.test';
  await app.as(ROOT).users.create({ email, apps: [SALES, FLEET], extra: EXTRA });

  for (const appId of [SALES, FLEET])
    assert.equal((await claimsOf(app, email, appId)).data_permissions, EXTRA);
});

data.run();
