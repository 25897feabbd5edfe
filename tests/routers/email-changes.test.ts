import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts';
import { mailedEmailToken } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const changes = appSuite('changes of email addresses');

let created = 0;
const addMember = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `member-${created}@acme.test`;
  await app.as(ACME).users.create({ email, apps: [SALES], send_email: false });
  return email;
};

const request = async (app: TestApp, from: string, to: string): Promise<string> => {
  await app.as(from).profile.requestEmail({ email: to });
  return mailedEmailToken(app, to, 'confirm');
};
const change = async (app: TestApp, from: string, to: string): Promise<void> =>
  app.as(null).profile.confirmEmail({ token: await request(app, from, to) });

const exists = async (app: TestApp, email: string): Promise<boolean> =>
  app
    .as(ROOT)
    .users.get({ email })
    .then(
      () => true,
      () => false,
    );

changes('take effect only when the link to the new address is confirmed', async ({ app }) => {
  const from = await addMember(app);
  const to = `New-${from}`;
  await app.as(from).profile.requestEmail({ email: to });
  const token = await mailedEmailToken(app, to.toLowerCase(), 'confirm');
  const link = await app.as(null).profile.verifyEmail({ token, kind: 'confirm' });

  assert.equal(link, { email: from, new_email: to.toLowerCase() });
  assert.ok(await exists(app, from));
  await app.as(null).profile.confirmEmail({ token });
  assert.not.ok(await exists(app, from));
  assert.is((await app.as(ACME).users.get({ email: to })).email, to.toLowerCase());
  await rejectsWith(app.as(null).profile.confirmEmail({ token }), 'invalid-link');
});

changes('need a link that is signed, not replaced and not older than a day', async ({ app }) => {
  const from = await addMember(app);
  const first = await request(app, from, `first-${from}`);
  const second = await request(app, from, `second-${from}`);
  const confirm = (token: string) =>
    rejectsWith(app.as(null).profile.confirmEmail({ token }), 'invalid-link');

  await confirm(first);
  await confirm(`${second.slice(0, -1)}${second.endsWith('A') ? 'B' : 'A'}`);
  await rejectsWith(app.as(null).profile.undoEmail({ token: second }), 'invalid-link');
  app.clock.advance(25 * HOUR_MS);
  await confirm(second);
  assert.ok(await exists(app, from));
});

changes('answer for a taken address as for a free one, and say so at the confirmation', async ({ app }) => {
  const from = await addMember(app);
  const token = await request(app, from, GRACE);
  const refused = await rejectsWith(app.as(null).profile.confirmEmail({ token }), 'user-exists');

  assert.equal(Object.keys(refused.fields ?? {}), ['email']);
  assert.ok(await exists(app, from));
});

changes('give an address that two people claim to one of them', async ({ app }) => {
  const people = [await addMember(app), await addMember(app)];
  const to = `claimed-${people[0]}`;
  const [one = '', two = ''] = people;
  await app.as(one).profile.requestEmail({ email: to });
  const first = await mailedEmailToken(app, to, 'confirm');
  await app.as(two).profile.requestEmail({ email: to });
  const second = await mailedEmailToken(app, to, 'confirm');
  const results = await Promise.allSettled(
    [first, second].map((token) => app.as(null).profile.confirmEmail({ token })),
  );

  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  assert.is(failures.length, 1);
  await rejectsWith(Promise.reject(failures[0]), 'user-exists');
  assert.ok(await exists(app, to));
});

changes('are limited to five requests an hour, and refused for the same address', async ({ app }) => {
  const from = await addMember(app);
  await rejectsWith(app.as(from).profile.requestEmail({ email: from.toUpperCase() }), 'invalid-input');
  for (let n = 0; n < 5; n += 1) await app.as(from).profile.requestEmail({ email: `n${n}-${from}` });
  await rejectsWith(app.as(from).profile.requestEmail({ email: `n5-${from}` }), 'throttled');
});

changes('are undone by the link to the old address, which ends all access', async ({ app }) => {
  const from = await addMember(app);
  const to = `stolen-${from}`;
  await change(app, from, to);
  await change(app, to, `again-${from}`);
  const token = await mailedEmailToken(app, from, 'undo');
  const link = await app.as(null).profile.verifyEmail({ token, kind: 'undo' });
  assert.equal(link, { email: `again-${from}`, new_email: from });
  await app.as(null).profile.undoEmail({ token });

  assert.ok(await exists(app, from));
  const { id } = await app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', '=', from)
    .executeTakeFirstOrThrow();
  const tokens = await app.db().selectFrom('api_tokens').select('id').where('user_id', '=', id).execute();
  assert.equal(tokens, []);
  await rejectsWith(app.as(null).profile.undoEmail({ token }), 'invalid-link');
  const other = mailedEmailToken(app, to, 'undo');
  await rejectsWith(app.as(null).profile.undoEmail({ token: await other }), 'invalid-link');
});

changes('cannot be undone after seven days', async ({ app }) => {
  const from = await addMember(app);
  await change(app, from, `week-${from}`);
  const token = await mailedEmailToken(app, from, 'undo');
  app.clock.advance(7 * DAY_MS + 1);
  await rejectsWith(app.as(null).profile.undoEmail({ token }), 'invalid-link');
});

changes('by a superuser take effect at once, with an undo for the old address', async ({ app }) => {
  const from = await addMember(app);
  const to = `admin-${from}`;
  const user = await app.as(ROOT).users.changeEmail({ email: from, new_email: to });

  assert.is(user.email, to);
  await rejectsWith(app.as(ACME).users.get({ email: from }), 'not-found');
  await app.as(null).profile.undoEmail({ token: await mailedEmailToken(app, from, 'undo') });
  assert.ok(await exists(app, from));
});

changes('by a client admin take effect when the new address confirms them', async ({ app }) => {
  const from = await addMember(app);
  const to = `confirmed-${from}`;
  const user = await app.as(ACME).users.changeEmail({ email: from, new_email: to });

  assert.is(user.email, from);
  assert.not.ok(await exists(app, to));
  await app.as(null).profile.confirmEmail({ token: await mailedEmailToken(app, to, 'confirm') });
  assert.ok(await exists(app, to));
  // Nothing is said about an address that has an account.
  const taken = await addMember(app);
  await app.as(ACME).users.changeEmail({ email: taken, new_email: GLOBEX });
});

changes('by an admin leave invitations of other clients with the old address', async ({ app }) => {
  const from = await addMember(app);
  const to = `elsewhere-${from}`;
  await app.as(GLOBEX).invitations.create({ items: [{ email: from }] });
  await app.as(ACME).users.changeEmail({ email: from, new_email: to });
  await app.as(null).profile.confirmEmail({ token: await mailedEmailToken(app, to, 'confirm') });

  assert.is((await app.as(GLOBEX).invitations.search({ search: to })).length, 0);
  assert.is((await app.as(GLOBEX).invitations.search({ search: from })).length, 1);
  const redirected = app.db().selectFrom('outbox_mails').select('id').where('recipient', '=', to);
  assert.equal(await redirected.where('kind', '=', 'invitation').execute(), []);
});

changes("by a client admin end all logins, as the old mailbox may be the admin's", async ({ app }) => {
  const from = await addMember(app);
  const to = `mine-${from}`;
  await app
    .db()
    .updateTable('users')
    .set({ password_hash: 'known to the admin' })
    .where('email', '=', from)
    .execute();
  await app.as(from).apps.list({});
  await app.as(ACME).users.changeEmail({ email: from, new_email: to });
  await app.as(null).profile.confirmEmail({ token: await mailedEmailToken(app, to, 'confirm') });

  await rejectsWith(app.as(from).apps.list({}), 'unauthenticated');
  const user = app.db().selectFrom('users').select(['id', 'password_hash']).where('email', '=', to);
  const { id, password_hash } = await user.executeTakeFirstOrThrow();
  assert.is(password_hash, null);
  const mails = app.db().selectFrom('outbox_mails').select('recipient').where('user_id', '=', id);
  assert.equal(await mails.where('kind', '=', 'password-setup').execute(), [{ recipient: to }]);
});

changes('cannot be undone after another client has added the person', async ({ app }) => {
  for (const byAdmin of [true, false]) {
    const from = await addMember(app);
    const to = `joins-${from}`;
    if (byAdmin) {
      await app.as(ACME).users.changeEmail({ email: from, new_email: to });
      await app.as(null).profile.confirmEmail({ token: await mailedEmailToken(app, to, 'confirm') });
    } else await change(app, from, to);
    const token = await mailedEmailToken(app, from, 'undo');
    app.clock.advance(1000);
    if (byAdmin) {
      // The admin who requested it cannot end the undo.
      await app.as(ROOT).grants.create({ app_id: FLEET, email: to });
      await app.as(ACME).memberships.remove({ id: 1, email: to });
      await app.as(ROOT).grants.create({ app_id: SALES, email: to });
      await app.as(ROOT).memberships.remove({ id: 2, email: to });
      assert.ok(await app.as(null).profile.verifyEmail({ token, kind: 'undo' }));
    }
    await app.as(ROOT).grants.create({ app_id: FLEET, email: to });

    await rejectsWith(app.as(null).profile.verifyEmail({ token, kind: 'undo' }), 'invalid-link');
    await rejectsWith(app.as(null).profile.undoEmail({ token }), 'invalid-link');
    assert.ok(await exists(app, to));
  }
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
    const [person, admin] = [await addMember(app), await addMember(app)];
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

changes('by an admin are refused by the rules of roles', async ({ app }) => {
  const shared = await addMember(app);
  const { id: fleet } = await app
    .db()
    .selectFrom('apps')
    .select('id')
    .where('client_id', '=', 2)
    .limit(1)
    .executeTakeFirstOrThrow();
  await app.as(ROOT).users.update({ email: shared, apps: [SALES, fleet] });
  const to = (email: string, new_email = 'free@acme.test') => ({ email, new_email });

  await rejectsWith(app.as(ACME).users.changeEmail(to(shared)), 'shared-user');
  await rejectsWith(app.as(ACME).users.changeEmail(to(ACME)), 'self-modification');
  await rejectsWith(app.as(STAFF).users.changeEmail(to(ADA)), 'forbidden');
  await rejectsWith(app.as(GLOBEX).users.changeEmail(to(ADA)), 'not-found');
  const admin = await addMember(app);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: admin, is_admin: true });
  await rejectsWith(app.as(ACME).users.changeEmail(to(admin)), 'client-admin-locked');
  await app.as(ROOT).users.changeEmail(to(admin, `root-${admin}`));
  assert.ok(await exists(app, `root-${admin}`));
});

changes('by a superuser report a taken address', async ({ app }) => {
  const from = await addMember(app);
  const call = app.as(ROOT).users.changeEmail({ email: from, new_email: GLOBEX.toUpperCase() });
  const refused = await rejectsWith(call, 'user-exists');

  assert.equal(Object.keys(refused.fields ?? {}), ['new_email']);
});

changes('keep former addresses for the person who used them', async ({ app }) => {
  const from = await addMember(app);
  await change(app, from, `moved-${from}`);

  await rejectsWith(app.as(ACME).users.create({ email: from }), 'user-exists');
  await change(app, `moved-${from}`, from);
  assert.ok(await exists(app, from));
});

changes('release an address that was never used when they are undone', async ({ app }) => {
  const from = await addMember(app);
  const wrong = `wrong-${from}`;
  await app.as(ROOT).users.changeEmail({ email: from, new_email: wrong });
  await app.as(null).profile.undoEmail({ token: await mailedEmailToken(app, from, 'undo') });
  const { email } = await app.as(ACME).users.create({ email: wrong });

  assert.is(email, wrong);
});

changes('are followed by usage, audit trail, mails and invitations', async ({ app }) => {
  const from = await addMember(app);
  const to = `followed-${from}`;
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: from, action: 'BEFORE' }] });
  await app.as(GLOBEX).invitations.create({ items: [{ email: from }] });
  await app.as(from).tokens.createNamed({ name: 'Backup' });
  await change(app, from, to);
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: from, action: 'LATE' }] });

  const totals = await app
    .db()
    .selectFrom('usage_days')
    .select(['email', 'actions'])
    .where('email', 'in', [from, to])
    .execute();
  assert.equal(totals, [{ email: to, actions: 2 }]);
  const { items } = await app.as(ACME).usage.list({ app_id: SALES, email: to });
  assert.equal(
    items.map(({ action }) => action),
    ['LATE', 'BEFORE'],
  );
  assert.is((await app.as(ACME).usage.list({ app_id: SALES, email: from })).items.length, 2);
  const did = (await app.as(ROOT).audit.list({ actor: to, limit: 100 })).map(({ action }) => action);
  assert.ok(did.includes('token.create'));
  const [creation] = await app.as(ACME).audit.list({ target: to, action: 'user.create' });
  assert.is(creation?.target, from);
  const kinds = (await app.as(ROOT).mail.timeline({ email: to })).map(({ mail }) =>
    mail ? 'mail' : 'invitation',
  );
  assert.equal(new Set(kinds), new Set(['mail', 'invitation']));
  const invited = await app.as(GLOBEX).invitations.search({ search: to });
  assert.is(invited.length, 1);
});

changes('are exported and erased with all addresses', async ({ app }) => {
  const from = await addMember(app);
  const to = `erased-${from}`;
  await app.as(from).tokens.createNamed({ name: 'Backup' });
  await change(app, from, to);

  const parts: Record<string, unknown[]> = {};
  for await (const { part, items } of await app.as(to).users.export({ email: to })) {
    parts[part] = [...(parts[part] ?? []), ...items];
  }
  assert.match(JSON.stringify(parts.email_changes), from);
  assert.match(JSON.stringify(parts.audit), 'token.create');

  const { confirmation } = await app.as(ROOT).users.previewErasure({ email: to });
  const { pseudonym } = await app.as(ROOT).users.erase({ email: to, confirmation, confirm_email: to });
  const trail = JSON.stringify(await app.as(ROOT).audit.list({ limit: 100 }));
  assert.not.match(trail, from);
  assert.match(trail, pseudonym);
  const left = await app
    .db()
    .selectFrom('outbox_mails')
    .select('id')
    .where('recipient', 'in', [from, to])
    .execute();
  assert.equal(left, []);
  assert.equal(
    await app.db().selectFrom('email_changes').select('id').where('old_email', '=', from).execute(),
    [],
  );
  assert.is((await app.as(ACME).users.create({ email: from })).email, from);
});

changes.run();
