import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { createView } from '../support/access-views.ts';
import { inviteByLink, mailedEmailToken } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const traces = appSuite('what another client, or an admin who has left, leaves behind');

let created = 0;
const addPerson = async (app: TestApp, apps: string[]): Promise<string> => {
  created += 1;
  const email = `trace-${created}@x.test`;
  await app.as(ROOT).users.create({ email, apps, send_email: false });
  return email;
};

traces('share links do not show what became of a person who has left', async ({ app }) => {
  const email = await addPerson(app, [SALES, FLEET]);
  const { id } = await createView(app, { user: email });
  const isPersonActive = async () =>
    (await app.as(ACME).accessViews.screen({ app: 'sales' })).find((view) => view.id === id)
      ?.is_person_active;
  assert.is(await isPersonActive(), true);
  await app.as(ACME).memberships.remove({ id: 1, email });
  assert.is(await isPersonActive(), false);

  for (const is_active of [false, true]) {
    await app.as(GLOBEX).users.update({ email, is_active });
    assert.is(await isPersonActive(), false);
  }
});

/** A mail of this client about the end of the person's password that waits. */
const addExpiryMail = async (app: TestApp, email: string, client: number): Promise<number> => {
  const person = app.db().selectFrom('users').select('id').where('email', '=', email);
  const { id: userId } = await person.executeTakeFirstOrThrow();
  const now = app.clock.now();
  const mail = { kind: 'password-expiry' as const, user_id: userId, client_id: client, recipient: email };
  const { id } = await app
    .db()
    .insertInto('outbox_mails')
    .values({ ...mail, created_at: now, next_attempt_at: now, failed_at: now, last_error: 'Full.' })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
};

traces('the end of a password stays a matter of the client whose policy it is', async ({ app }) => {
  const email = await addPerson(app, [SALES, FLEET]);
  const id = await addExpiryMail(app, email, 2);
  await app.as(GLOBEX).memberships.remove({ id: 2, email });

  await rejectsWith(app.as(ACME).mail.get({ id }), 'not-found');
  await rejectsWith(app.as(ACME).mail.retry({ id }), 'not-found');
  assert.is((await app.as(ROOT).mail.get({ id })).recipient, email);
});

traces('the preview of an offboarding counts no mail that its reader may not see', async ({ app }) => {
  const email = await addPerson(app, [SALES, FLEET]);
  const id = await addExpiryMail(app, email, 1);
  await app.db().updateTable('outbox_mails').set({ failed_at: null }).where('id', '=', id).execute();

  assert.is((await app.as(ACME).users.previewOffboarding({ email })).mails, 0);
  assert.is((await app.as(ROOT).users.previewOffboarding({ email })).mails, 1);
});

traces('a pending change of the address is shown as long as its link is valid', async ({ app }) => {
  const email = await addPerson(app, [FLEET]);
  await app.as(GLOBEX).users.changeEmail({ email, new_email: `of-globex-${email}` });
  const pending = async () => (await app.as(ACME).users.screen({ email })).account?.pending_email;
  await app.as(ROOT).grants.create({ app_id: SALES, email });
  await app.as(GLOBEX).memberships.remove({ id: 2, email });

  assert.is(await pending(), null);
});

traces('mails about the account from before a membership are not for its admins', async ({ app }) => {
  const email = await addPerson(app, [FLEET]);
  const to = `of-globex-${email}`;
  await app.as(GLOBEX).users.changeEmail({ email, new_email: to });
  app.clock.advance(MINUTE_MS);
  await app.as(ROOT).grants.create({ app_id: SALES, email });
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  app.clock.advance(MINUTE_MS);
  await app.as(ACME).users.bulkUpdate({ emails: [email], action: 'send-password-link' });

  const kinds = async (as: string) =>
    (await app.as(as).mail.list({ limit: 100 }))
      .filter(({ recipient }) => [email, to].includes(recipient))
      .map(({ kind }) => kind);
  assert.equal(await kinds(ACME), ['password-setup']);
  assert.equal((await kinds(ROOT)).toSorted(), ['email-confirmation', 'password-setup']);
});

traces('an admin who has left is named as the client knew them', async ({ app }) => {
  const person = await addPerson(app, [SALES]);
  const admin = await addPerson(app, [SALES, FLEET]);
  const [root, acme] = [app.as(ROOT), app.as(ACME)];
  await root.roles.setClientAdmin({ id: 1, email: admin, is_admin: true });
  await app.as(admin).groups.create({ id: 1, name: 'By one who left', members: [person], apps: [CHURN] });
  await root.roles.setClientAdmin({ id: 1, email: admin, is_admin: false });
  await acme.memberships.remove({ id: 1, email: admin });
  app.clock.advance(MINUTE_MS);
  await root.users.changeEmail({ email: admin, new_email: `secret-${admin}` });

  const { groups } = await acme.access.ofPerson({ email: person });
  assert.is(groups.find(({ name }) => name === 'By one who left')?.added_by, admin);
});

traces('usage that is recorded for a former address of a stranger stays with it', async ({ app }) => {
  const former = await addPerson(app, [SALES, FLEET]);
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: former, action: 'OPEN' }] });
  await app.as(ACME).memberships.remove({ id: 1, email: former });
  const present = `secret-${former}`;
  await app.as(ROOT).users.changeEmail({ email: former, new_email: present });
  app.clock.advance(3 * DAY_MS);
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: former, action: 'OPEN' }] });
  await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [{ email: former, action: 'OPEN' }] });

  const topOf = async (as: string, appId: string) =>
    (await app.as(as).usage.top({ app_id: appId })).users.map(({ email, actions }) => [email, actions]);
  const ofAcme = JSON.stringify(await topOf(ACME, SALES));
  assert.match(ofAcme, `["${former}",2]`);
  assert.not.match(ofAcme, present);
  assert.match(JSON.stringify(await topOf(GLOBEX, FLEET)), `["${present}",1]`);
});

const offboard = async (app: TestApp, as: string, email: string): Promise<string> =>
  (await app.as(as).users.bulkUpdate({ emails: [email], action: 'offboard' })).operation;

traces('a role that an undo gives back ends the undo of an address', async ({ app }) => {
  const email = await addPerson(app, [SALES]);
  const root = app.as(ROOT);
  await root.roles.update({ email, is_staff: true });
  const operation = await offboard(app, ROOT, email);
  await root.users.update({ email, is_active: true });
  const present = `new-${email}`;
  await app.as(email).profile.requestEmail({ email: present });
  const confirm = await mailedEmailToken(app, present, 'confirm');
  await app.as(email).profile.confirmEmail({ token: confirm });
  const token = await mailedEmailToken(app, email, 'undo');
  await root.operations.undo({ id: operation });

  assert.is((await root.roles.get({ email: present })).is_staff, true);
  await rejectsWith(app.as(null).profile.undoEmail({ token }), 'invalid-link');
});

traces(
  'the undo of an offboarding gives back no role that a superuser has taken away since',
  async ({ app }) => {
    const root = app.as(ROOT);
    const decisions: ((email: string) => Promise<unknown>)[] = [
      (email) => root.roles.setClientAdmin({ id: 1, email, is_admin: false }),
      async (email) => {
        await root.memberships.remove({ id: 1, email });
        await root.users.update({ email, is_active: true });
        const { path } = await inviteByLink(app, { email, by: ROOT });
        const [, key = '', signature = ''] = /invitation\/(.+)\/\?signature=(.+)$/.exec(path) ?? [];
        await app.as(email).invitations.accept({ key, signature });
      },
    ];
    for (const decide of decisions) {
      const email = await addPerson(app, [SALES]);
      await root.roles.setClientAdmin({ id: 1, email, is_admin: true });
      const operation = await offboard(app, ACME, email);
      await decide(email);
      await app.as(ACME).operations.undo({ id: operation });

      assert.equal((await root.users.get({ email })).clientadmin_of, []);
    }
  },
);

traces(
  'mails and requests of the time in which the person belonged to both are not for the one that is left',
  async ({ app }) => {
    const email = await addPerson(app, [SALES, FLEET]);
    const mails = async () => (await app.as(ACME).mail.list({ recipient: email })).length;
    const reset = async () => {
      app.clock.advance(MINUTE_MS);
      await app.as(null).passwords.requestReset({ email });
      await app.mailWorker.drain();
    };
    await reset();
    await app.as(email).profile.requestEmail({ email: `secret-${email}` });
    assert.is(await mails(), 0);
    await app.as(GLOBEX).memberships.remove({ id: 2, email });

    assert.is(await mails(), 0);
    const { account } = await app.as(ACME).users.screen({ email });
    assert.is(account?.pending_email, null);
    assert.is((await app.as(email).profile.pendingEmail({})).pending?.new_email, `secret-${email}`);
    await reset();
    assert.is(await mails(), 1);
  },
);

traces(
  'account mails of the time before a person joined another client stay with the first',
  async ({ app }) => {
    const email = await addPerson(app, [FLEET]);
    app.clock.advance(60 * MINUTE_MS);
    await app.as(null).passwords.requestReset({ email });
    await app.mailWorker.drain();
    const mails = async () => (await app.as(GLOBEX).mail.list({ recipient: email })).length;
    assert.is(await mails(), 1);
    app.clock.advance(60 * MINUTE_MS);
    await app.as(ROOT).users.update({ email, apps: [SALES, FLEET] });
    await app.as(ACME).memberships.remove({ id: 1, email });

    assert.is(await mails(), 1);
  },
);

traces.run();
