import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { createView, userId } from '../support/access-views.ts';
import { inviteByLink, mailedEmailToken, setProved } from '../support/mails.ts';
import { erase } from '../support/person.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowOf, setRows } from '../support/rows.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

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
  const now = app.clock.now();
  const mail = { kind: 'password-expiry', user_id: await userId(app, email), client_id: client } as const;
  const times = { created_at: now, next_attempt_at: now, failed_at: now };
  await addRows(app, 'outbox_mails', { ...mail, recipient: email, ...times, last_error: 'Full.' });
  return (await rowOf(app, 'outbox_mails', { recipient: email })).id;
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
  await setRows(app, 'outbox_mails', { id }, { failed_at: null });

  assert.is((await app.as(ACME).users.previewOffboarding({ email })).mails, 0);
  assert.is((await app.as(ROOT).users.previewOffboarding({ email })).mails, 1);
});

/** Changes the address of a person, and returns the token that would undo it. */
const moveTo = async (app: TestApp, email: string, to: string): Promise<string> => {
  await setProved(app, email);
  await app.as(email).profile.requestEmail({ email: to });
  await app.as(email).profile.confirmEmail({ token: await mailedEmailToken(app, to, 'confirm') });
  return mailedEmailToken(app, email, 'undo');
};

traces('a shared account shows admins the dates of the membership alone', async ({ app }) => {
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
  assert.equal(await datesFor(GLOBEX), [false, false]);
  assert.equal(await datesFor(ROOT), [true, true]);
  const changed = await app.as(ACME).users.update({ email, extra: { a: 1 } });
  assert.equal([changed.last_activated, changed.last_deactivated], [null, null]);
  const suspended = await app.as(ACME).users.update({ email, is_active: false });
  assert.equal(suspended.last_deactivated, app.clock.now());
  const back = await app.as(ACME).users.update({ email, is_active: true });
  assert.equal([back.last_activated, back.last_deactivated], [app.clock.now(), null]);
});

traces('an admin cannot find out the password policy of another client of a person', async ({ app }) => {
  const email = await addPerson(app, [SALES, FLEET]);
  const old = new Date(app.clock.now().getTime() - 100 * DAY_MS);
  await setRows(app, 'users', { email }, { last_password_set: old });
  const listsFor = async (policyOfOther: number) => {
    await app.as(ROOT).clients.update({ id: 2, password_expiration_days: policyOfOther });
    await setRows(app, 'memberships', {}, { password_expiry_from: null });
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

traces('an erasure shows a client admin no counts of other clients', async ({ app }) => {
  const email = await addPerson(app, [SALES, FLEET]);
  await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [{ email, action: 'OPEN' }] });
  await erase(app, email);

  const entryFor = async (who: string) =>
    (await app.as(who).audit.list({ action: 'user.erase', limit: 1 }))[0];
  assert.equal((await entryFor(ACME))?.details, {});
  assert.is((await entryFor(ROOT))?.details.usage_entries, 1);
});

traces('an invitation that brings a person back ends the undo for an old mailbox', async ({ app }) => {
  const email = await addPerson(app, [SALES]);
  const to = `moved-${email}`;
  const token = await moveTo(app, email, to);
  assert.ok(await app.as(null).profile.verifyEmail({ token, kind: 'undo' }));
  await app.as(ACME).memberships.update({ id: 1, email: to, is_active: false });

  const { path } = await inviteByLink(app, { email: to, by: ROOT });
  const [, key = '', signature = ''] = /invitation\/(.+)\/\?signature=(.+)$/.exec(path) ?? [];
  await app.as(to).invitations.accept({ key, signature });

  await rejectsWith(app.as(null).profile.verifyEmail({ token, kind: 'undo' }), 'invalid-link');
});

traces.run();
