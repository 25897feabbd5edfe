import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { untilWaiting } from '../support/database-sessions.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { invitationLink } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf } from '../support/rows.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GLOBEX,
  GRACE,
  IDLE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const acceptance = appSuite('accepting an invitation');

const PASSWORD = 'violet-harbor-92-kite';
let invited = 0;

type Wanted = { as?: string; email?: string; apps?: string[]; extra?: object; demo?: boolean };

/** Creates an invitation and returns it with the key and signature of its link. */
const invite = async (app: TestApp, wanted: Wanted = {}) => {
  invited += 1;
  const { as = ACME, email = `guest${invited}@new.test`, apps = [SALES], extra = {}, demo = false } = wanted;
  const items = [{ email, initial_apps: apps, extra: { ...extra }, is_demo_user: demo }];
  const [invitation] = await app.as(as).invitations.create({ items });
  if (!invitation) throw new Error('nothing was made');
  return { email, id: invitation.id, ...invitationLink(app, invitation.key) };
};

const preview = (app: TestApp, { key, signature }: { key: string; signature: string }) =>
  app.as(null).invitations.preview({ key, signature });

const accept = (app: TestApp, { key, signature }: { key: string; signature: string }, more: object = {}) =>
  app.as(null).invitations.accept({ key, signature, password: PASSWORD, ...more });

acceptance('creates the user with the apps and data of the invitation, and logs in', async ({ app }) => {
  const invitation = await invite(app, { extra: { region: 'EU' }, demo: true });
  const { email } = invitation;

  const opened = await preview(app, invitation);
  const names = { first_name: 'Barbara', last_name: 'Liskov' };
  const { user, home_location } = await accept(app, invitation, names);

  assert.equal([opened.status, opened.needs, opened.inviter_name], ['pending', 'password', 'Alex Acme']);
  assert.equal([opened.apps, home_location], [['Sales'], '/']);
  assert.equal(
    { ...user, handle: '', profile_color: '', profile_avatar: '', date_joined: 0, last_login: 0 },
    {
      email,
      handle: '',
      ...names,
      extra: { region: 'EU' },
      is_active: true,
      is_demo_user: true,
      profile_color: '',
      profile_avatar: '',
      apps: [SALES],
      clientadmin_of: [],
      last_login: 0,
      date_joined: 0,
      last_activated: null,
      last_deactivated: null,
    },
  );
  assert.ok((await app.as(null).tokens.create({ username: email, password: PASSWORD })).token);
  assert.ok(fieldOf(await app.as(ACME).clients.users({ id: 1 }), 'email').includes(email));
  const entries = await app.as(ACME).audit.list({ target: email });
  assert.equal(fieldsOf(entries.slice(-4), 'action', 'actor'), [
    ['login.session', email],
    ['invitation.accept', email],
    ['user.create', email],
    ['invitation.create', ACME],
  ]);
  assert.not.match(JSON.stringify(entries), new RegExp(`${PASSWORD}|${invitation.signature}`));
});

acceptance('succeeds for one of several concurrent requests', async ({ app }) => {
  const invitation = await invite(app);

  const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => accept(app, invitation)));

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.is((await rowsOf(app, 'users', { email: invitation.email })).length, 1);
  await rejectsWith(accept(app, invitation), 'invitation-closed');
  assert.is((await preview(app, invitation)).status, 'accepted');
});

acceptance('creates one user for two invitations to one address', async ({ app }) => {
  const email = 'two@new.test';
  const two = [await invite(app, { email }), await invite(app, { as: GLOBEX, email, apps: [FLEET] })];

  const outcomes = await Promise.allSettled(two.map((invitation) => accept(app, invitation)));

  assert.equal(fieldOf(outcomes, 'status').sort(), ['fulfilled', 'rejected']);
  assert.is((await rowsOf(app, 'users', { email })).length, 1);
});

acceptance('keeps the invitation pending if the password is weak or missing', async ({ app }) => {
  const invitation = await invite(app);
  const names = { first_name: 'Radia', last_name: 'Perlman' };

  const weak = await rejectsWith(accept(app, invitation, { ...names, password: 'Perlman' }), 'invalid-input');
  const missing = await rejectsWith(accept(app, invitation, { password: undefined }), 'invalid-input');

  assert.is(weak.fields?.password?.length, 2);
  assert.equal(missing.fields, { password: ['This field is required.'] });
  assert.is((await accept(app, invitation, names)).user?.last_name, 'Perlman');
});

acceptance('requires an existing user to log in, and does not change the password', async ({ app }) => {
  const { key, signature } = await invite(app, { email: EDSGER });
  const acceptAs = (as: string | null) =>
    app.as(as).invitations.accept({ key, signature, password: PASSWORD });
  assert.is((await preview(app, { key, signature })).needs, 'login');
  for (const as of [null, GRACE]) await rejectsWith(acceptAs(as), 'login-required');
  assert.is((await app.as(EDSGER).invitations.preview({ key, signature })).needs, 'nothing');
  await acceptAs(EDSGER);

  assert.equal((await app.as(ROOT).users.get({ email: EDSGER })).apps.toSorted(), [FLEET, SALES]);
  assert.ok((await app.as(null).tokens.create({ username: EDSGER, password: DEMO_PASSWORD })).token);
});

acceptance('does not reactivate a deactivated account', async ({ app }) => {
  const invitation = await invite(app, { email: IDLE });

  await rejectsWith(accept(app, invitation), 'account-inactive');
  assert.is((await preview(app, invitation)).needs, 'activation');
});

acceptance('says nothing of a deactivation by another client', async ({ app }) => {
  const email = 'of-globex@globex.test';
  await app.as(GLOBEX).users.create({ email, client: 2 });
  const invitation = await invite(app, { email });
  const assertNeedsLogin = async () => {
    assert.is((await preview(app, invitation)).needs, 'login');
    await rejectsWith(accept(app, invitation), 'login-required');
  };

  await assertNeedsLogin();
  await app.as(GLOBEX).users.deactivate({ email });
  await assertNeedsLogin();
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  await assertNeedsLogin();
});

acceptance('accepts only the mailed signature', async ({ app }) => {
  const { key, signature } = await invite(app);
  const other = await invite(app);

  for (const [k, s] of [
    [key, ''],
    [key, key],
    [key, other.signature],
    [key, `${signature} `],
    ['', signature],
    ['x\0y', signature],
    [key.toLowerCase(), signature],
  ] as const)
    await rejectsWith(preview(app, { key: k, signature: s }), 'not-found');
});

acceptance('fails after expiry and revocation, and works again after a resend', async ({ app }) => {
  const invitation = await invite(app);
  const { id } = invitation;
  const status = async () => (await preview(app, invitation)).status;

  app.clock.advance(14 * DAY_MS);
  assert.is(await status(), 'expired');
  await rejectsWith(accept(app, invitation), 'invitation-closed');
  await app.as(ACME).invitations.resend({ id });
  assert.is(await status(), 'pending');
  await app.as(ACME).invitations.revoke({ id });
  assert.is(await status(), 'revoked');
  await rejectsWith(accept(app, invitation), 'invitation-closed');
});

acceptance('does not change the data of users with a role', async ({ app }) => {
  for (const email of [STAFF, GLOBEX]) {
    const { key, signature } = await invite(app, { email, extra: { region: 'EU' }, demo: true });
    await app.as(email).invitations.accept({ key, signature, first_name: '', last_name: '' });

    const user = await app.as(email).users.get({ email });
    assert.equal([user.extra, user.is_demo_user, user.apps], [{}, false, [SALES]], email);
  }
});

acceptance('applies what the invitation says when it is closed, not when it was read', async ({ app }) => {
  const invitation = await invite(app, { extra: { region: 'EU' } });
  const { email, id } = invitation;

  const holder = new Client(app.connection);
  await holder.connect();
  await holder.query('begin');
  const columns = `extra = '{"region":"US"}', is_demo_user = true`;
  await holder.query(`update invitations set ${columns} where id = $1`, [id]);
  await holder.query('update invitation_apps set app_id = $1 where invitation_id = $2', [CHURN, id]);

  const accepting = accept(app, invitation);
  await untilWaiting(holder);
  await holder.query('commit');
  await holder.end();
  await accepting;

  const user = await app.as(ACME).users.get({ email });
  assert.equal([user.extra, user.apps, user.is_demo_user], [{ region: 'US' }, [CHURN], true]);
  const [accepted] = await app.as(ACME).audit.list({ target: email, action: 'invitation.accept' });
  assert.equal(accepted?.details, { id, apps: ['Churn'] });
});

acceptance('adds the data of the invitation to that of an existing user', async ({ app }) => {
  const email = 'member@acme.test';
  await app.as(ROOT).users.create({ email, extra: { team: 'logic' } });
  const { key, signature } = await invite(app, { email, extra: { region: 'EU' } });
  await app.as(email).invitations.accept({ key, signature });

  assert.equal((await app.as(ACME).users.get({ email })).extra, { team: 'logic', region: 'EU' });
  const [updated] = await app.as(ACME).audit.list({ target: email, action: 'membership.update' });
  assert.equal([updated?.actor, updated?.details], [email, { extra: { from: null, to: null } }]);
});

acceptance('adds apps to a person of another client, and keeps their data', async ({ app }) => {
  const email = 'shared@globex.test';
  await app.as(GLOBEX).users.create({ email, apps: [FLEET], extra: { rows: 'own' } });
  const before = await app.as(GLOBEX).users.get({ email });
  const { key, signature } = await invite(app, { email, extra: { rows: 'all' }, demo: true });

  await app.as(email).invitations.accept({ key, signature, first_name: 'Other', last_name: 'Name' });

  assert.equal(await app.as(GLOBEX).users.get({ email }), before);
  assert.equal((await app.as(ACME).users.get({ email })).apps, [SALES]);
});

acceptance('creates the new user even if another user is logged in', async ({ app }) => {
  const { email, key, signature } = await invite(app);

  const { user } = await app.as(ADA).invitations.accept({ key, signature, password: PASSWORD });

  assert.is(user?.email, email);
});

acceptance.run();
