import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { createView } from '../support/access-views.ts';
import { inviteByLink, mailedEmailToken } from '../support/mails.ts';
import { erase } from '../support/person.ts';
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

traces(
  'the dates of an account from before a person joined a client are not for its admins',
  async ({ app }) => {
    const email = await addPerson(app, [FLEET]);
    for (const is_active of [false, true]) {
      app.clock.advance(MINUTE_MS);
      await app.as(GLOBEX).users.update({ email, is_active });
    }
    app.clock.advance(MINUTE_MS);
    await app.as(ROOT).users.update({ email, apps: [SALES, FLEET] });
    const datesFor = async (who: string) => {
      const { last_activated, last_deactivated } = await app.as(who).users.get({ email });
      return [last_activated, last_deactivated].map((date) => date !== null);
    };

    assert.equal(await datesFor(ACME), [false, false]);
    assert.equal(await datesFor(GLOBEX), [true, true]);
    assert.equal(await datesFor(ROOT), [true, true]);
    const changed = await app.as(ACME).users.update({ email, extra: { a: 1 } });
    assert.equal([changed.last_activated, changed.last_deactivated], [null, null]);
  },
);

traces(
  'sessions and tokens of the time in another client are hidden, and ended with all others',
  async ({ app }) => {
    const email = await addPerson(app, [SALES, FLEET]);
    const { id } = await app.as(email).tokens.createNamed({ name: 'export of Globex' });
    const token = await app.tokenOf(email);
    await app.as(GLOBEX).memberships.remove({ id: 2, email });

    assert.equal(await app.as(ACME).tokens.listByUser({ email }), []);
    assert.equal(await app.as(ACME).sessions.listByUser({ email }), []);
    assert.is((await app.as(ACME).users.previewOffboarding({ email })).tokens, 0);
    await rejectsWith(app.as(ACME).tokens.revokeForUser({ email, id }), 'not-found');
    assert.ok((await app.as(ROOT).tokens.listByUser({ email })).length > 0);
    await app.as(ACME).sessions.revokeAll({ email });
    await rejectsWith(app.as(null).tokens.verify({ token }), 'invalid-token');
  },
);

traces(
  'mails of the shared time stay hidden if the other client had suspended the person in between',
  async ({ app }) => {
    const email = await addPerson(app, [SALES, FLEET]);
    await app.as(email).profile.requestEmail({ email: `hidden-${email}` });
    app.clock.advance(MINUTE_MS);
    const operation = await offboard(app, GLOBEX, email);
    await app.as(GLOBEX).operations.undo({ id: operation });
    await app.as(GLOBEX).memberships.remove({ id: 2, email });

    assert.equal(await app.as(ACME).mail.list({ search: 'hidden-' }), []);
    assert.is((await app.as(ACME).users.screen({ email })).account?.pending_email, null);
    await app.as(ACME).users.cancelEmailChange({ email });
    assert.equal(await app.as(ACME).audit.list({ person: email, action: 'user.cancel-email' }), []);
    assert.ok((await app.as(email).profile.pendingEmail({})).pending);
  },
);

traces('an admin cannot find out the password policy of another client of a person', async ({ app }) => {
  const email = await addPerson(app, [SALES, FLEET]);
  const old = new Date(app.clock.now().getTime() - 100 * DAY_MS);
  await app.db().updateTable('users').set({ last_password_set: old }).where('email', '=', email).execute();
  const listsFor = async (policyOfOther: number) => {
    await app.as(ROOT).clients.update({ id: 2, password_expiration_days: policyOfOther });
    await app.db().updateTable('memberships').set({ password_expiry_from: null }).execute();
    const lists: boolean[] = [];
    for (const days of [60, 20, 10]) {
      await app.as(ACME).clients.update({ id: 1, password_expiration_days: days });
      const expired = await app.as(ACME).users.list({ password_expired: true, search: email });
      lists.push(JSON.stringify(expired).includes(email));
    }
    await app.as(ROOT).clients.update({ id: 1, password_expiration_days: 0 });
    return lists;
  };

  assert.equal(await listsFor(17), await listsFor(0));
  await app.as(ROOT).clients.update({ id: 2, password_expiration_days: 0 });
});

traces(
  'a bulk change that continues does not find people who have left by guessed addresses',
  async ({ app }) => {
    const email = await addPerson(app, [FLEET]);
    await app.as(ROOT).users.update({ email, apps: [FLEET, CHURN] });
    const change = { action: 'grant-apps' as const, apps: [SALES] };
    const { operation } = await app.as(ACME).users.bulkUpdate({ emails: [email], ...change });
    await app.as(ACME).memberships.remove({ id: 1, email });
    await app.as(ROOT).users.changeEmail({ email, new_email: `new-${email}` });

    const { results } = await app
      .as(ACME)
      .users.bulkUpdate({ emails: [`new-${email}`], operation, ...change });
    assert.is(results[0]?.status, 'failed');
  },
);

traces(
  'an erasure that a client admin reads of does not count the rows of other clients',
  async ({ app }) => {
    const email = await addPerson(app, [SALES, FLEET]);
    await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [{ email, action: 'OPEN' }] });
    await erase(app, email);

    const entryFor = async (who: string) =>
      (await app.as(who).audit.list({ action: 'user.erase', limit: 1 }))[0];
    assert.equal((await entryFor(ACME))?.details, {});
    assert.is((await entryFor(ROOT))?.details.usage_entries, 1);
  },
);

traces(
  'a change of the address that another client had requested leaves no trace when it is cancelled',
  async ({ app }) => {
    const email = await addPerson(app, [FLEET]);
    await app.as(GLOBEX).users.changeEmail({ email, new_email: `planned-${email}` });
    app.clock.advance(MINUTE_MS);
    await app.as(ROOT).users.update({ email, apps: [SALES, FLEET] });
    await app.as(GLOBEX).memberships.remove({ id: 2, email });

    await app.as(ACME).users.cancelEmailChange({ email });

    assert.equal(await app.as(ACME).audit.list({ person: email, action: 'user.cancel-email' }), []);
  },
);

traces(
  'a password link that waits does not tell the new address of a person who has left',
  async ({ app }) => {
    const email = await addPerson(app, [SALES]);
    const change = { action: 'send-password-link' as const };
    const { operation } = await app.as(ACME).users.bulkUpdate({ emails: [email], ...change });
    await app.as(ROOT).users.update({ email, apps: [SALES, FLEET] });
    await app.as(ACME).memberships.remove({ id: 1, email });
    const guess = `left-${email}`;
    await app.as(ROOT).users.changeEmail({ email, new_email: guess });

    const { results } = await app.as(ACME).users.bulkUpdate({ emails: [guess], operation, ...change });

    assert.is(results[0]?.status, 'failed');
  },
);

traces('the new holder of an account does not read when the earlier one was deactivated', async ({ app }) => {
  const email = await addPerson(app, [SALES]);
  for (const is_active of [false, true]) await app.as(ROOT).users.update({ email, is_active });
  const to = `holder-of-${email}`;
  await app.as(ROOT).users.changeEmail({ email, new_email: to });

  const { last_activated, last_deactivated } = await app.as(to).users.get({ email: to });

  assert.equal([last_activated, last_deactivated], [null, null]);
});

traces('a short stay in another client hides nothing of the time before it', async ({ app }) => {
  const email = await addPerson(app, [FLEET]);
  await app.as(email).tokens.createNamed({ name: 'of Globex alone' });
  app.clock.advance(MINUTE_MS);
  await app.as(ROOT).users.update({ email, apps: [SALES, FLEET] });
  app.clock.advance(MINUTE_MS);
  await app.as(ACME).memberships.remove({ id: 1, email });

  const tokens = await app.as(GLOBEX).tokens.listByUser({ email });
  assert.ok(tokens.some(({ name }) => name === 'of Globex alone'));
});

traces(
  'an invitation that brings a suspended person back ends the undo for an old mailbox',
  async ({ app }) => {
    const email = await addPerson(app, [SALES]);
    const to = `moved-${email}`;
    await app.as(email).profile.requestEmail({ email: to });
    const confirmation = await mailedEmailToken(app, to, 'confirm');
    await app.as(email).profile.confirmEmail({ token: confirmation });
    const token = await mailedEmailToken(app, email, 'undo');
    assert.ok(await app.as(null).profile.verifyEmail({ token, kind: 'undo' }));
    await app.as(ACME).memberships.update({ id: 1, email: to, is_active: false });

    const { path } = await inviteByLink(app, { email: to, by: ROOT });
    const [, key = '', signature = ''] = /invitation\/(.+)\/\?signature=(.+)$/.exec(path) ?? [];
    await app.as(to).invitations.accept({ key, signature });

    await rejectsWith(app.as(null).profile.verifyEmail({ token, kind: 'undo' }), 'invalid-link');
  },
);

traces(
  'the preview of an offboarding does not change when another person leaves a client',
  async ({ app }) => {
    const email = await addPerson(app, [SALES]);
    await app.tokenOf(email);
    const other = await addPerson(app, [SALES, FLEET]);
    const tokens = async () => (await app.as(ACME).users.previewOffboarding({ email })).tokens;
    assert.is(await tokens(), 1);

    await app.as(GLOBEX).memberships.remove({ id: 2, email: other });

    assert.is(await tokens(), 1);
  },
);

traces.run();
