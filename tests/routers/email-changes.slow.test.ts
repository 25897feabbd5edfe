import * as assert from 'uvu/assert';
import { HOUR_MS } from '../../src/lib/clock.ts';
import { userId } from '../support/access-views.ts';
import { mailedEmailToken, setProved } from '../support/mails.ts';
import { addMember } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, rowsOf } from '../support/rows.ts';
import { ACME, appSuite, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const changes = appSuite('changes of email addresses');

const request = async (app: TestApp, from: string, to: string): Promise<string> => {
  await app.as(from).profile.requestEmail({ email: to });
  return mailedEmailToken(app, to, 'confirm');
};

const change = async (app: TestApp, from: string, to: string): Promise<void> =>
  app.as(from).profile.confirmEmail({ token: await request(app, from, to) });

const exists = async (app: TestApp, email: string): Promise<boolean> =>
  (await rowsOf(app, 'users', { email: email.toLowerCase() })).length === 1;

changes('take effect only when the link to the new address is confirmed', async ({ app }) => {
  const from = await addMember(app);
  const to = `New-${from}`;
  await app.as(from).profile.requestEmail({ email: to });
  const token = await mailedEmailToken(app, to.toLowerCase(), 'confirm');
  const verify = (as: string | null) => app.as(as).profile.verifyEmail({ token, kind: 'confirm' });

  const link = { email: from, new_email: to.toLowerCase() };
  assert.equal(await verify(null), { ...link, needs_login: true });
  assert.equal(await verify(from), { ...link, needs_login: false });
  for (const other of [null, GRACE, ROOT])
    await rejectsWith(app.as(other).profile.confirmEmail({ token }), 'login-required');
  assert.ok(await exists(app, from));
  await app.as(from).profile.confirmEmail({ token });
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
  const refused = await rejectsWith(app.as(from).profile.confirmEmail({ token }), 'user-exists');

  assert.equal(Object.keys(refused.fields ?? {}), ['email']);
  assert.ok(await exists(app, from));
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
  await setProved(app, from);
  await change(app, from, to);
  await change(app, to, `again-${from}`);
  const passing = await mailedEmailToken(app, to, 'undo');
  await rejectsWith(app.as(null).profile.undoEmail({ token: passing }), 'invalid-link');
  const token = await mailedEmailToken(app, from, 'undo');
  const link = await app.as(null).profile.verifyEmail({ token, kind: 'undo' });
  assert.equal(link, { email: from, new_email: from, needs_login: false });
  await app.as(null).profile.undoEmail({ token });

  assert.ok(await exists(app, from));
  assert.equal(await rowsOf(app, 'api_tokens', { user_id: await userId(app, from) }), []);
  await rejectsWith(app.as(null).profile.undoEmail({ token }), 'invalid-link');
  const other = mailedEmailToken(app, to, 'undo');
  await rejectsWith(app.as(null).profile.undoEmail({ token: await other }), 'invalid-link');
});

changes('by a superuser take effect at once, with a notice to the old address', async ({ app }) => {
  const from = await addMember(app);
  const to = `admin-${from}`;
  const user = await app.as(ROOT).users.changeEmail({ email: from, new_email: to });

  assert.is(user.email, to);
  await rejectsWith(app.as(ACME).users.get({ email: from }), 'not-found');
  const [mail] = await rowsOf(app, 'outbox_mails', { recipient: from, kind: 'email-changed' });
  const { undo_until } = await rowOf(app, 'email_changes', { old_email: from });
  assert.equal([mail?.email_change_id, undo_until], [null, null], 'the mail has no link to undo it');
  const taken = app.as(ROOT).users.changeEmail({ email: to, new_email: GLOBEX.toUpperCase() });
  assert.equal(Object.keys((await rejectsWith(taken, 'user-exists')).fields ?? {}), ['new_email']);
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

changes('by an admin are refused for their own address and for other admins', async ({ app }) => {
  const to = (email: string, new_email = 'free@acme.test') => ({ email, new_email });

  await rejectsWith(app.as(ACME).users.changeEmail(to(ACME)), 'self-modification');
  const admin = await addMember(app);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: admin, is_admin: true });
  await rejectsWith(app.as(ACME).users.changeEmail(to(admin)), 'client-admin-locked');
  await app.as(ROOT).users.changeEmail(to(admin, `root-${admin}`));
  assert.ok(await exists(app, `root-${admin}`));
});

changes.run();
