import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { sessionOf } from '../support/looks.ts';
import { invitationLink } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';

const invited = appSuite('roles by invitation');

type Role = 'client-admin' | 'people-manager' | 'app-manager' | 'help-desk' | 'auditor';

const invite = async (app: TestApp, email: string, roles: Role[], as = ROOT) => {
  const [made] = await app.as(as).invitations.create({ items: [{ email, client: 1, roles }] });
  assert.ok(made);
  return { id: made.id, email, link: invitationLink(app, made.key) };
};

const accept = (app: TestApp, { link }: Awaited<ReturnType<typeof invite>>, as: string | null = null) =>
  app.as(as).invitations.accept({ ...link, ...(as === null && { password: DEMO_PASSWORD.repeat(2) }) });

/** The roles that a person has in client 1. */
const rolesOf = async (app: TestApp, email: string) => {
  const session = await app.as(email).sessions.current();
  return [session?.roles.admin_of, session?.roles.client_roles];
};

invited('an invitation of a superuser makes the first admin, and says so everywhere', async ({ app }) => {
  const invitation = await invite(app, 'first@new.test', ['client-admin']);
  const { id, email } = invitation;

  assert.equal((await app.as(ACME).invitations.get({ id })).roles, ['client-admin']);
  assert.is((await app.as(null).invitations.preview(invitation.link)).invited_as, 'an admin');
  const mail = await rowOf(app, 'outbox_mails', { recipient: email });
  const { text } = await app.as(ROOT).mail.get({ id: Number(mail.id) });
  assert.match(text, 'You have been invited to Acme Analytics as an admin.');

  await accept(app, invitation);
  assert.equal(await rolesOf(app, email), [[1], {}]);
  for (const action of ['invitation.create', 'invitation.accept']) {
    const { details } = await rowOf(app, 'audit_entries', { action, target_label: email });
    assert.equal(details.roles, ['client-admin'], action);
  }
  const given = await rowOf(app, 'audit_entries', { action: 'membership.set-roles', target_label: email });
  assert.equal([given.actor_label, given.details], [ROOT, { roles: { from: [], to: ['client-admin'] } }]);
});

invited('an account of another client gets the roles when it accepts', async ({ app }) => {
  const invitation = await invite(app, GLOBEX, ['auditor', 'help-desk'], ACME);
  await accept(app, invitation, GLOBEX);

  assert.equal(await rolesOf(app, GLOBEX), [[2], { 1: ['auditor', 'help-desk'] }]);
});

invited('nobody invites with a role that they may not give', async ({ app }) => {
  const desk = 'manager@acme.test';
  await app.as(ACME).users.create({ email: desk, client: 1, send_email: false });
  await app.as(ACME).roles.setInClient({ id: 1, email: desk, roles: ['people-manager'] });
  const items = (role: Role) => ({ items: [{ email: 'x@new.test', client: 1, roles: [role] }] });

  for (const [as, role] of [
    [ACME, 'client-admin'],
    [desk, 'people-manager'],
    [desk, 'auditor'],
  ] as const) {
    const { fields } = await rejectsWith(app.as(as).invitations.create(items(role)), 'invalid-input');
    assert.equal(Object.keys(fields ?? {}), ['items.0.roles']);
  }
  await rejectsWith(app.as(ADA).invitations.create(items('auditor')), 'forbidden');

  const { email } = await invite(app, 'plain@new.test', [], ACME);
  const change = app.as(ACME).invitations.update({ email, roles: ['client-admin'] });
  await rejectsWith(change, 'invalid-input');
});

invited('the roles of an invitation are not given if the inviter has lost the right to', async ({ app }) => {
  const admin = 'short-lived@acme.test';
  await app.as(ACME).users.create({ email: admin, client: 1, send_email: false });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: admin, is_admin: true });
  const invitation = await invite(app, 'late@new.test', ['auditor'], admin);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: admin, is_admin: false });
  await accept(app, invitation);

  assert.equal(await rolesOf(app, 'late@new.test'), [[], {}]);
});

invited('the roles of an invitation are not given while the inviter is suspended', async ({ app }) => {
  const email = 'suspended@acme.test';
  await app.as(ACME).users.create({ email, client: 1, send_email: false });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email, is_admin: true });
  const invitation = await invite(app, 'meanwhile@new.test', ['auditor'], email);
  await app.as(ACME).memberships.update({ id: 1, email, is_active: false });
  await accept(app, invitation);

  assert.equal(await rolesOf(app, 'meanwhile@new.test'), [[], {}]);
});

invited('a service account gives roles by invitation until it ends', async ({ app }) => {
  const account = await app
    .as(ACME)
    .serviceAccounts.create({ name: 'Onboarding', client: 1, roles: ['client-admin'] });
  const [given, late] = [
    await invite(app, 'given@new.test', ['auditor'], account.address),
    await invite(app, 'too-late@new.test', ['auditor'], account.address),
  ];
  await accept(app, given);
  assert.equal(await rolesOf(app, given.email), [[], { 1: ['auditor'] }]);

  await app.as(ACME).serviceAccounts.update({ id: account.id, is_active: false });
  await accept(app, late);
  assert.equal(await rolesOf(app, late.email), [[], {}]);
});

invited('who renews an invitation with roles answers for them', async ({ app }) => {
  await invite(app, 'renewed@new.test', ['auditor'], ACME);
  await invite(app, 'renewed@new.test', [], ROOT);
  const { id } = await rowOf(app, 'users', { email: ACME });
  const { roles, roles_by } = await rowOf(app, 'invitations', { email: 'renewed@new.test' });
  assert.equal([roles, roles_by], [['auditor'], id]);

  const renewed = await invite(app, 'renewed@new.test', ['client-admin'], ROOT);
  await accept(app, renewed);
  assert.equal(await rolesOf(app, 'renewed@new.test'), [[1], {}]);
});

invited('the roles of an invitation can be changed and taken away', async ({ app }) => {
  const { id, email } = await invite(app, 'changed@new.test', ['client-admin']);
  await app.as(ACME).invitations.update({ email, client: 1, roles: [] });

  assert.equal((await app.as(ACME).invitations.get({ id })).roles, []);
  await app.as(ACME).invitations.update({ email, client: 1, roles: ['auditor'] });
  assert.equal((await app.as(ACME).invitations.get({ id })).roles, ['auditor']);
});

invited('without a mail server, nobody reads the link of more rights than their own', async ({ app }) => {
  const desk = 'reader@acme.test';
  await app.as(ACME).users.create({ email: desk, client: 1, send_email: false });
  await app.as(ACME).roles.setInClient({ id: 1, email: desk, roles: ['people-manager'] });
  const { id, email } = await invite(app, 'secret@new.test', ['client-admin']);
  const mail = await rowOf(app, 'outbox_mails', { recipient: email });

  await rejectsWith(app.as(desk).invitations.copyLink({ id }), 'forbidden');
  assert.not.match((await app.as(desk).mail.get({ id: Number(mail.id) })).text, 'signature=');
  await app.as(ACME).invitations.copyLink({ id });
});

invited('inviting with a role asks for the password again some time after the login', async ({ app }) => {
  const { self } = await sessionOf(app, ROOT);
  const send = async (roles: Role[]) =>
    self.invitations.create({ items: [{ email: 'again@new.test', client: 1, roles }] });
  app.clock.advance(20 * MINUTE_MS);
  await rejectsWith(send(['client-admin']), 'reauthentication-required');
  assert.is((await send([])).length, 1);
});

invited.run();
