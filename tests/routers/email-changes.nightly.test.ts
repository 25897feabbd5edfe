import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { userId } from '../support/access-views.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { mailedEmailToken, setProved } from '../support/mails.ts';
import { addMember, invitationLink } from '../support/members.ts';
import { erase } from '../support/person.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, rowsOf, setRows } from '../support/rows.ts';
import { confirmTokens, enroll } from '../support/second-factors.ts';
import { ACME, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const changes = appSuite('changes of email addresses');

const addProved = async (app: TestApp): Promise<string> => {
  const email = await addMember(app);
  await setProved(app, email);
  return email;
};

const request = async (app: TestApp, from: string, to: string): Promise<string> => {
  await app.as(from).profile.requestEmail({ email: to });
  return mailedEmailToken(app, to, 'confirm');
};

const change = async (app: TestApp, from: string, to: string): Promise<void> =>
  app.as(from).profile.confirmEmail({ token: await request(app, from, to) });

/** An admin may request five an hour. */
const forgetLimit = (app: TestApp) =>
  app.db().deleteFrom('rate_limits').where('key', 'like', 'email-change:%').execute();

const changeByAdmin = async (app: TestApp, from: string, to: string): Promise<void> => {
  await forgetLimit(app);
  await app.as(ACME).users.changeEmail({ email: from, new_email: to });
  await app.as(null).profile.confirmEmail({ token: await mailedEmailToken(app, to, 'confirm') });
};

const exists = async (app: TestApp, email: string): Promise<boolean> =>
  (await rowsOf(app, 'users', { email: email.toLowerCase() })).length === 1;

changes('give an address that two people claim to one of them', async ({ app }) => {
  const [one, two] = [await addProved(app), await addProved(app)];
  const to = `claimed-${one}`;
  const [first, second] = [await request(app, one, to), await request(app, two, to)];
  const results = await Promise.allSettled([
    app.as(one).profile.confirmEmail({ token: first }),
    app.as(two).profile.confirmEmail({ token: second }),
  ]);

  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  assert.is(failures.length, 1);
  await rejectsWith(Promise.reject(failures[0]), 'user-exists');
  assert.ok(await exists(app, to));
});

changes('that are undone within seven days end second factors too', async ({ app }) => {
  const from = await addProved(app);
  await enroll(app, from);
  app.clock.advance(2 * DAY_MS);
  await confirmTokens(app, from);
  await change(app, from, `moved-${from}`);
  await app.as(null).profile.undoEmail({ token: await mailedEmailToken(app, from, 'undo') });
  assert.equal(await rowsOf(app, 'mfa_factors', { user_id: await userId(app, from) }), []);

  const late = await addProved(app);
  await change(app, late, `week-${late}`);
  const token = await mailedEmailToken(app, late, 'undo');
  app.clock.advance(7 * DAY_MS + 1);
  await rejectsWith(app.as(null).profile.undoEmail({ token }), 'invalid-link');
});

changes('of an address that was never proved reserve nothing', async ({ app }) => {
  const from = await addMember(app);
  await change(app, from, `prepared-${from}`);

  assert.is((await app.as(GLOBEX).users.create({ email: from, send_email: false })).email, from);
});

changes('are shown to those who may change the account until they end, and cancelled', async ({ app }) => {
  const from = await addProved(app);
  const pendingFor = async (admin: string) =>
    (await app.as(admin).users.screen({ email: from })).account?.pending_email;
  const to = `waiting-${from}`;
  const token = await request(app, from, to);
  const requested_at = app.clock.now();
  const ends_at = new Date(requested_at.getTime() + DAY_MS);
  assert.equal(await pendingFor(ACME), { new_email: to, requested_at, requested_by: from, ends_at });
  assert.is(await pendingFor(STAFF), undefined);

  await app.as(ACME).users.cancelEmailChange({ email: from });
  await app.as(ACME).users.cancelEmailChange({ email: from });

  assert.is(await pendingFor(ROOT), null);
  await rejectsWith(app.as(null).profile.confirmEmail({ token }), 'invalid-link');
  const entries = await app.as(ACME).audit.list({ target: from, action: 'user.cancel-email' });
  assert.equal(fieldsOf(entries, 'actor', 'clients'), [[ACME, [1]]]);
  await request(app, from, to);
  app.clock.advance(DAY_MS);
  assert.is(await pendingFor(ACME), null);
});

changes('are shown to and cancelled by the person, no matter who requested them', async ({ app }) => {
  const from = await addProved(app);
  const profile = app.as(from).profile;
  const byAdmin = (new_email: string) => app.as(ACME).users.changeEmail({ email: from, new_email });
  const byPerson = (email: string) => profile.requestEmail({ email });
  for (const [admin, ask] of [
    [from, byPerson],
    [ACME, byAdmin],
  ] as const) {
    const to = `by-${admin}`;
    await ask(to);
    const { pending } = await profile.pendingEmail();
    assert.equal([pending?.new_email, pending?.requested_by], [to, admin]);
    const token = await mailedEmailToken(app, to, 'confirm');

    await profile.cancelEmail();
    await profile.cancelEmail();

    assert.is((await profile.pendingEmail()).pending, null);
    await rejectsWith(profile.confirmEmail({ token }), 'invalid-link');
  }
  const entries = await app.as(ACME).audit.list({ target: from, action: 'user.cancel-email' });
  assert.equal(fieldOf(entries, 'actor'), [from, from]);
});

changes('leave invitations with the address that was invited', async ({ app }) => {
  for (const make of [change, changeByAdmin]) {
    const from = await addProved(app);
    const to = `elsewhere-${from}`;
    await app.as(GLOBEX).invitations.create({ items: [{ email: from }] });
    await make(app, from, to);

    assert.is((await app.as(GLOBEX).invitations.search({ search: to })).length, 0);
    assert.is((await app.as(GLOBEX).invitations.search({ search: from })).length, 1);
    assert.equal(await rowsOf(app, 'outbox_mails', { recipient: to, kind: 'invitation' }), []);
  }
});

changes('by an admin never give the membership of an invitation to the new address', async ({ app }) => {
  for (let round = 0; round < 5; round += 1) {
    const from = await addProved(app);
    const to = `raced-${from}`;
    const items = [{ email: from, initial_apps: [FLEET] }];
    const [invitation] = await app.as(GLOBEX).invitations.create({ items });
    await app.as(from).apps.list({});
    await forgetLimit(app);
    await app.as(ACME).users.changeEmail({ email: from, new_email: to });
    const token = await mailedEmailToken(app, to, 'confirm');
    const outcomes = await Promise.allSettled([
      app.as(from).invitations.accept(invitationLink(app, invitation?.key ?? '')),
      app.as(null).profile.confirmEmail({ token }),
    ]);

    assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    const members = fieldOf(await app.as(GLOBEX).clients.users({ id: 2 }), 'email');
    assert.not.ok(members.includes(to));
    assert.is(members.includes(from), outcomes[0]?.status === 'fulfilled');
  }
});

changes("by a client admin end all logins, as the old mailbox may be the admin's", async ({ app }) => {
  const from = await addProved(app);
  const to = `mine-${from}`;
  await setRows(app, 'users', { email: from }, { password_hash: 'known to the admin' });
  await app.as(from).apps.list({});
  await app.as(ACME).users.changeEmail({ email: from, new_email: to });
  await app.as(null).profile.confirmEmail({ token: await mailedEmailToken(app, to, 'confirm') });

  await rejectsWith(app.as(from).apps.list({}), 'unauthenticated');
  const { id, password_hash } = await rowOf(app, 'users', { email: to });
  assert.is(password_hash, null);
  const { recipient } = await rowOf(app, 'outbox_mails', { user_id: id, kind: 'password-setup' });
  assert.is(recipient, to);
});

changes('cannot be undone after a client has added the person, or a role was granted', async ({ app }) => {
  const root = app.as(ROOT);
  const endings: ((email: string) => Promise<unknown>)[] = [
    (email) => root.grants.create({ app_id: FLEET, email }),
    (email) => root.roles.update({ email, is_staff: true }),
    (email) => root.roles.update({ email, is_superuser: true }),
    (email) => root.roles.setClientAdmin({ id: 1, email, is_admin: true }),
    (email) => root.roles.setClientAdmin({ id: 2, email, is_admin: true }),
    async (email) => {
      await root.grants.create({ app_id: FLEET, email });
      await root.memberships.remove({ id: 2, email });
    },
  ];
  for (const end of endings) {
    const from = await addProved(app);
    const to = `trusted-${from}`;
    await change(app, from, to);
    const token = await mailedEmailToken(app, from, 'undo');
    app.clock.advance(1000);
    assert.ok(await app.as(null).profile.verifyEmail({ token, kind: 'undo' }));
    await end(to);

    await rejectsWith(app.as(null).profile.verifyEmail({ token, kind: 'undo' }), 'invalid-link');
    await rejectsWith(app.as(null).profile.undoEmail({ token }), 'invalid-link');
    assert.ok(await exists(app, to));
  }
});

changes('by a superuser mail no link to people who are inactive', async ({ app }) => {
  const from = await addProved(app);
  const to = `inactive-${from}`;
  await app.as(ROOT).users.deactivate({ email: from });
  await app.as(ROOT).users.changeEmail({ email: from, new_email: to });

  assert.equal(await rowsOf(app, 'outbox_mails', { recipient: to }), []);
});

changes('by a superuser end the undo of an earlier one', async ({ app }) => {
  const from = await addProved(app);
  await change(app, from, `own-${from}`);
  const token = await mailedEmailToken(app, from, 'undo');
  await app.as(ROOT).users.changeEmail({ email: `own-${from}`, new_email: `root-${from}` });

  await rejectsWith(app.as(null).profile.undoEmail({ token }), 'invalid-link');
  assert.ok(await exists(app, `root-${from}`));
});

changes('by an admin end once the admin may not make them any more', async ({ app }) => {
  const root = app.as(ROOT);
  const endings: ((person: string, admin: string) => Promise<unknown>)[] = [
    (email) => root.grants.create({ app_id: FLEET, email }),
    (email) => root.roles.update({ email, is_superuser: true }),
    (email) => root.roles.update({ email, is_staff: true }),
    (email) => root.roles.setClientAdmin({ id: 1, email, is_admin: true }),
    (_, email) => root.roles.setClientAdmin({ id: 1, email, is_admin: false }),
    (_, email) => root.users.deactivate({ email }),
    async (email) => {
      await root.grants.create({ app_id: FLEET, email });
      await root.memberships.remove({ id: 1, email });
    },
  ];
  for (const end of endings) {
    const [person, admin] = [await addProved(app), await addProved(app)];
    const to = `taken-${person}`;
    await root.roles.setClientAdmin({ id: 1, email: admin, is_admin: true });
    await app.as(admin).users.changeEmail({ email: person, new_email: to });
    const token = await mailedEmailToken(app, to, 'confirm');
    const { email } = await app.as(null).profile.verifyEmail({ token, kind: 'confirm' });
    assert.is(email, person);
    await end(person, admin);

    await rejectsWith(app.as(null).profile.verifyEmail({ token, kind: 'confirm' }), 'invalid-link');
    await rejectsWith(app.as(null).profile.confirmEmail({ token }), 'invalid-link');
    assert.ok((await exists(app, person)) && !(await exists(app, to)));
  }
});

changes('reserve the former address for the person until the undo has ended', async ({ app }) => {
  const from = await addProved(app);
  await change(app, from, `moved-${from}`);

  await rejectsWith(app.as(ACME).users.create({ email: from }), 'user-exists');
  app.clock.advance(8 * DAY_MS);
  assert.is((await app.as(ACME).users.create({ email: from })).email, from);
});

changes('are followed by usage, audit trail and mails', async ({ app }) => {
  const from = await addProved(app);
  const to = `followed-${from}`;
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: from, action: 'BEFORE' }] });
  await app.as(GLOBEX).invitations.create({ items: [{ email: from }] });
  await app.as(from).tokens.createNamed({ name: 'Backup' });
  await change(app, from, to);
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: from, action: 'LATE' }] });

  const usedBy = async (email: string) =>
    fieldOf((await app.as(ACME).usage.list({ app_id: SALES, email })).items, 'action');
  assert.equal(await usedBy(to), ['BEFORE']);
  assert.equal((await usedBy(from)).sort(), ['BEFORE', 'LATE'], 'as it was reported');
  const { users } = await app.as(ACME).usage.top({ app_id: SALES });
  for (const email of [from, to]) assert.is(users.find((user) => user.email === email)?.actions, 1);
  const did = await app.as(ROOT).audit.list({ actor: to, action: 'token.create' });
  assert.is(did.length, 1);
  const [creation] = await app.as(ACME).audit.list({ target: to, action: 'user.create' });
  assert.is(creation?.target, from);
  assert.ok((await app.as(ROOT).mail.timeline({ email: to })).length > 0);
});

changes('are reported to the former mailbox in the name of the service, not of a client', async ({ app }) => {
  const from = await addProved(app);
  await change(app, from, `away-${from}`);

  const mails = await app.as(ROOT).mail.list({ recipient: from });
  const { id } = mails.find(({ kind }) => kind === 'email-changed') ?? { id: 0 };
  const { subject, text } = await app.as(ROOT).mail.get({ id });

  assert.not.match(subject + text, /Acme/);
  assert.match(text, /no longer uses/);
});

changes('are exported and erased with all addresses', async ({ app }) => {
  const from = await addProved(app);
  const to = `erased-${from}`;
  await app.as(from).tokens.createNamed({ name: 'Backup' });
  await change(app, from, to);

  const parts: Record<string, unknown[]> = {};
  for await (const { part, items } of await app.as(to).users.export({ email: to })) {
    parts[part] = [...(parts[part] ?? []), ...items];
  }
  assert.match(JSON.stringify(parts.email_changes), from);
  assert.match(JSON.stringify(parts.audit), 'token.create');

  const { pseudonym } = await erase(app, to);
  const trail = JSON.stringify(await app.as(ROOT).audit.list({ limit: 100 }));
  assert.not.match(trail, from);
  assert.match(trail, pseudonym);
  assert.equal(await rowsOf(app, 'outbox_mails', { recipient: [from, to] }), []);
  assert.equal(await rowsOf(app, 'email_changes', { old_email: from }), []);
  assert.is((await app.as(ACME).users.create({ email: from })).email, from);
});

changes.run();
