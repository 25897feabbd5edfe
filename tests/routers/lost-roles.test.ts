import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const lost = appSuite('invitations after a role was lost');

const setAdmin = (app: TestApp, email: string, id: number, isAdmin: boolean) =>
  app.as(ROOT).roles.setClientAdmin({ id, email, is_admin: isAdmin });

/** Ada administers both clients, invites to the second and loses that role; its admin then extends the invitation. */
const inviteAndLose = async (app: TestApp, email: string): Promise<number> => {
  await setAdmin(app, ADA, 1, true);
  await setAdmin(app, ADA, 2, true);
  const [made] = await app.as(ADA).invitations.create({ items: [{ email, client: 2 }] });
  await setAdmin(app, ADA, 2, false);
  await app.as(GLOBEX).invitations.create({
    items: [{ email, initial_apps: ['Hb7cW2ke'], extra: { note: 'of Globex' } }],
  });
  if (!made) throw new Error('nothing was made');
  return made.id;
};

lost('lists no invitations of a client that the inviter no longer administers', async ({ app }) => {
  await inviteAndLose(app, 'guest@lost.test');
  const page = await app.send('GET /jb/users/invitations/?page=1', { as: ADA });

  assert.equal([page.headers['x-count'], page.json()], ['0', []]);
  for (const status of ['pending', 'all'] as const) {
    assert.equal(await app.as(ADA).invitations.list({ status }), []);
    assert.equal(await app.as(ADA).invitations.search({ status }), []);
  }

  await setAdmin(app, ADA, 2, true);
  const [again] = await app.as(ADA).invitations.list({});
  assert.equal(again?.extra, { note: 'of Globex' }, 'it is listed again with the role');
});

lost('refuses to let the inviter change, mail, revoke or read them', async ({ app }) => {
  const email = 'care@lost.test';
  const id = await inviteAndLose(app, email);
  const ada = app.as(ADA);

  await rejectsWith(ada.invitations.pending({ email }), 'not-found');
  await rejectsWith(ada.invitations.update({ email, extra: {} }), 'not-found');
  await rejectsWith(ada.invitations.update({ email, client: 2, extra: {} }), 'not-found');
  for (const call of ['get', 'resend', 'revoke', 'copyLink'] as const) {
    await rejectsWith(ada.invitations[call]({ id }), 'not-found');
  }
  assert.equal(await ada.mail.list({ client: 2 }), []);
  const mails = app.db().selectFrom('outbox_mails').select('id').where('invitation_id', '=', id);
  for (const mail of await mails.execute()) {
    await rejectsWith(ada.mail.get(mail), 'not-found');
    await rejectsWith(ada.mail.retry(mail), 'not-found');
  }
});

lost('refuses a user who has lost every role', async ({ app }) => {
  await inviteAndLose(app, 'all@lost.test');
  await setAdmin(app, ADA, 1, false);

  await rejectsWith(app.as(ADA).invitations.list({}), 'forbidden');
  await rejectsWith(app.as(ADA).mail.list({}), 'forbidden');
});

lost('lists to staff the invitations that they created as a client admin', async ({ app }) => {
  await setAdmin(app, STAFF, 1, true);
  await app.as(STAFF).invitations.create({ items: [{ email: 'by-staff@lost.test' }] });
  await setAdmin(app, STAFF, 1, false);

  const listed = await app.as(STAFF).invitations.list({});
  assert.equal(
    listed.map(({ email }) => email),
    ['by-staff@lost.test'],
  );
  await rejectsWith(
    app.as(STAFF).invitations.update({ email: 'by-staff@lost.test', extra: {} }),
    'forbidden',
  );
});

lost.run();

const byApp = appSuite('invitations.list by app');

byApp('lists the invitations of all inviters to client admins, staff and superusers', async ({ app }) => {
  const item = { email: 'of-sales@x.test', client: 1, initial_apps: ['zylTKNVx'] };
  await app
    .as(ROOT)
    .invitations.create({ items: [item, { ...item, email: 'no-app@x.test', initial_apps: [] }] });
  const emails = async (who: string) =>
    (await app.as(who).invitations.list({ app: 'sales' })).map(({ email }) => email);

  for (const who of [ACME, STAFF, ROOT]) assert.equal(await emails(who), ['of-sales@x.test'], who);
  await rejectsWith(app.as(GLOBEX).invitations.list({ app: 'sales' }), 'not-found');
  await rejectsWith(app.as(ADA).invitations.list({ app: 'sales' }), 'forbidden');
});

byApp.run();
