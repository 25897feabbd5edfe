import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { fieldsOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
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
import { until } from '../support/time.ts';

const acceptance = appSuite('accepting an invitation');

const PASSWORD = 'violet-harbor-92-kite';
let invited = 0;

type Race<T> = { work: () => Promise<T>; change: (tx: Client) => Promise<unknown> };

/** Changes an invitation in a transaction that ends when the work waits for it. */
const whileLocked = async <T>(app: TestApp, id: number, { work, change }: Race<T>) => {
  const holder = new Client(app.connection);
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query('select from invitations where id = $1 for update', [id]);
    await change(holder);
    const outcome = Promise.allSettled([work()]);
    await until('the work waits for the invitation', async () => {
      await holder.query('select pg_stat_clear_snapshot()');
      const { rowCount } = await holder.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rowCount === 1;
    });
    await holder.query('commit');
    return await outcome;
  } finally {
    await holder.end();
  }
};

type Wanted = {
  as?: string;
  email?: string;
  apps?: string[];
  extra?: Record<string, unknown>;
  demo?: boolean;
};

/** Creates an invitation and returns it with the key and signature of its link. */
const invite = async (app: TestApp, wanted: Wanted = {}) => {
  invited += 1;
  const {
    as = ACME,
    email = `guest${invited}@new.test`,
    apps = ['zylTKNVx'],
    extra = {},
    demo = false,
  } = wanted;
  const items = [{ email, initial_apps: apps, extra, is_demo_user: demo }];
  const [invitation] = await app.as(as).invitations.create({ items });
  if (!invitation) throw new Error('nothing was made');
  const link = new URL(app.links.invitation(invitation.key));
  return {
    email,
    id: invitation.id,
    key: invitation.key,
    signature: link.searchParams.get('signature') ?? '',
  };
};

acceptance('creates the user with the apps and data of the invitation, and logs in', async ({ app }) => {
  const { email, key, signature } = await invite(app, { extra: { region: 'EU' }, demo: true });

  const opened = await app.as(null).invitations.preview({ key, signature });
  const names = { first_name: 'Barbara', last_name: 'Liskov' };
  const { user, home_location } = await app
    .as(null)
    .invitations.accept({ key, signature, ...names, password: PASSWORD });

  assert.is(opened.status, 'pending');
  assert.is(opened.needs, 'password');
  assert.is(opened.inviter_name, 'Alex Acme');
  assert.equal(opened.apps, ['Sales']);
  assert.is(home_location, '/');
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
      apps: ['zylTKNVx'],
      clientadmin_of: [],
      last_login: 0,
      date_joined: 0,
      last_activated: null,
      last_deactivated: null,
    },
  );
  assert.ok((await app.as(null).tokens.create({ username: email, password: PASSWORD })).token);
  const members = await app.as(ACME).clients.users({ id: 1 });
  assert.ok(members.some((member) => member.email === email));
});

acceptance('succeeds for one of two concurrent requests', async ({ app }) => {
  const { email, key, signature } = await invite(app);

  const outcomes = await Promise.allSettled(
    Array.from({ length: 4 }, () => app.as(null).invitations.accept({ key, signature, password: PASSWORD })),
  );
  const users = await app.db().selectFrom('users').select('id').where('email', '=', email).execute();

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.is(users.length, 1);
  const again = app.as(null).invitations.accept({ key, signature, password: PASSWORD });
  await rejectsWith(again, 'invitation-closed');
  assert.is((await app.as(null).invitations.preview({ key, signature })).status, 'accepted');
});

acceptance('creates one user for two invitations to one address', async ({ app }) => {
  const email = 'two@new.test';
  const acme = await invite(app, { email });
  const globex = await invite(app, { as: GLOBEX, email, apps: ['Hb7cW2ke'] });

  const outcomes = await Promise.allSettled(
    [acme, globex].map(({ key, signature }) =>
      app.as(null).invitations.accept({ key, signature, password: PASSWORD }),
    ),
  );
  const users = await app.db().selectFrom('users').select('id').where('email', '=', email).execute();

  assert.equal(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  assert.is(users.length, 1);
});

acceptance('keeps the invitation pending if the password is weak or missing', async ({ app }) => {
  const { key, signature, email } = await invite(app);
  const accept = (password?: string) =>
    app.as(null).invitations.accept({ key, signature, first_name: 'Radia', last_name: 'Perlman', password });

  const weak = await rejectsWith(accept('Perlman'), 'invalid-input');
  const missing = await rejectsWith(accept(), 'invalid-input');

  assert.is(weak.fields?.password?.length, 2);
  assert.equal(missing.fields, { password: ['This field is required.'] });
  await accept(PASSWORD);
  assert.is((await app.as(ACME).users.get({ email })).last_name, 'Perlman');
});

acceptance('requires an existing user to log in, and does not change the password', async ({ app }) => {
  const { key, signature } = await invite(app, { email: EDSGER });
  const accept = (as: string | null) => app.as(as).invitations.accept({ key, signature, password: PASSWORD });
  assert.is((await app.as(null).invitations.preview({ key, signature })).needs, 'login');
  await rejectsWith(accept(null), 'login-required');
  await rejectsWith(accept(GRACE), 'login-required');
  assert.is((await app.as(EDSGER).invitations.preview({ key, signature })).needs, 'nothing');
  await accept(EDSGER);

  const edsger = await app.as(ROOT).users.get({ email: EDSGER });
  assert.equal(edsger.apps.toSorted(), ['Hb7cW2ke', 'zylTKNVx']);
  assert.ok((await app.as(null).tokens.create({ username: EDSGER, password: DEMO_PASSWORD })).token);
});

acceptance('does not reactivate a deactivated account', async ({ app }) => {
  const { key, signature } = await invite(app, { email: IDLE });

  const accepted = app.as(null).invitations.accept({ key, signature, password: PASSWORD });

  await rejectsWith(accepted, 'account-inactive');
  assert.is((await app.as(null).invitations.preview({ key, signature })).needs, 'activation');
});

acceptance('says nothing of a deactivation by another client', async ({ app }) => {
  const email = 'of-globex@globex.test';
  await app.as(GLOBEX).users.create({ email, client: 2 });
  const { key, signature } = await invite(app, { email });
  const answers = async () => {
    const { needs } = await app.as(null).invitations.preview({ key, signature });
    const { code } = await rejectsWith(
      app.as(null).invitations.accept({ key, signature, password: PASSWORD }),
      'login-required',
    );
    return [needs, code];
  };

  const before = await answers();
  await app.as(GLOBEX).users.deactivate({ email });
  assert.equal(await answers(), before);
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  assert.equal(await answers(), before);
  assert.equal(before, ['login', 'login-required']);
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
  ] as const) {
    await rejectsWith(app.as(null).invitations.preview({ key: k, signature: s }), 'not-found');
  }
});

acceptance('fails after expiry and revocation, and works again after a resend', async ({ app }) => {
  const { id, key, signature } = await invite(app);
  const status = async () => (await app.as(null).invitations.preview({ key, signature })).status;
  const accept = () => app.as(null).invitations.accept({ key, signature, password: PASSWORD });

  app.clock.advance(14 * DAY_MS);
  assert.is(await status(), 'expired');
  await rejectsWith(accept(), 'invitation-closed');
  await app.as(ACME).invitations.resend({ id });
  assert.is(await status(), 'pending');
  await app.as(ACME).invitations.revoke({ id });
  assert.is(await status(), 'revoked');
  await rejectsWith(accept(), 'invitation-closed');
});

acceptance('records the new user and the login in the audit trail', async ({ app }) => {
  const { email, key, signature } = await invite(app);
  await app.as(null).invitations.accept({ key, signature, password: PASSWORD });

  const entries = await app.as(ACME).audit.list({ target: email });

  assert.equal(fieldsOf(entries, 'action', 'actor'), [
    ['login.session', email],
    ['invitation.accept', email],
    ['user.create', email],
    ['invitation.create', ACME],
  ]);
  assert.not.ok(JSON.stringify(entries).includes(PASSWORD));
  assert.not.ok(JSON.stringify(entries).includes(signature));
});

acceptance(
  'does not change the data of users with a role, whom client admins may not change',
  async ({ app }) => {
    for (const email of [STAFF, GLOBEX]) {
      const { key, signature } = await invite(app, { email, extra: { region: 'EU' }, demo: true });
      await app.as(email).invitations.accept({ key, signature, first_name: '', last_name: '' });

      const user = await app.as(email).users.get({ email });
      assert.equal([user.extra, user.is_demo_user, user.apps], [{}, false, ['zylTKNVx']], email);
    }
  },
);

acceptance('applies what the invitation says when it is closed, not when it was read', async ({ app }) => {
  const { email, id, key, signature } = await invite(app, { extra: { region: 'EU' } });
  const changed = { extra: { region: 'US' }, initial_apps: ['Qm3vR8pa'] };

  const [outcome] = await whileLocked(app, id, {
    work: () => app.as(null).invitations.accept({ key, signature, password: PASSWORD }),
    change: async (tx) => {
      await tx.query(`update invitations set extra = $1, is_demo_user = true where id = $2`, [
        JSON.stringify(changed.extra),
        id,
      ]);
      await tx.query('update invitation_apps set app_id = $1 where invitation_id = $2', ['Qm3vR8pa', id]);
    },
  });

  assert.is(outcome.status, 'fulfilled');
  const user = await app.as(ACME).users.get({ email });
  assert.equal([user.extra, user.apps, user.is_demo_user], [changed.extra, changed.initial_apps, true]);
  const [accepted] = await app.as(ACME).audit.list({ target: email, action: 'invitation.accept' });
  assert.equal(accepted?.details, { id, apps: ['Churn'] });
});

acceptance(
  'adds the data of the invitation at its acceptance to that of an existing user',
  async ({ app }) => {
    const email = 'member@acme.test';
    await app.as(ROOT).users.create({ email, extra: { team: 'logic' } });
    const { id, key, signature } = await invite(app, { email, extra: { region: 'EU' } });

    await whileLocked(app, id, {
      work: () => app.as(email).invitations.accept({ key, signature }),
      change: (tx) => tx.query(`update invitations set extra = '{"region":"US"}' where id = $1`, [id]),
    });

    assert.equal((await app.as(ACME).users.get({ email })).extra, { team: 'logic', region: 'US' });
    const [updated] = await app.as(ACME).audit.list({ target: email, action: 'membership.update' });
    assert.equal([updated?.actor, updated?.details], [email, { extra: { from: null, to: null } }]);
  },
);

acceptance('adds apps to a person of another client, and keeps their data', async ({ app }) => {
  await app
    .as(GLOBEX)
    .users.create({ email: 'shared@globex.test', apps: ['Hb7cW2ke'], extra: { rows: 'own' } });
  const email = 'shared@globex.test';
  const before = await app.as(GLOBEX).users.get({ email });
  const { key, signature } = await invite(app, { email, extra: { rows: 'all' }, demo: true });

  await app.as(email).invitations.accept({ key, signature, first_name: 'Other', last_name: 'Name' });

  assert.equal(await app.as(GLOBEX).users.get({ email }), before);
  assert.equal((await app.as(ACME).users.get({ email })).apps, ['zylTKNVx']);
});

acceptance('creates the new user even if another user is logged in', async ({ app }) => {
  const { email, key, signature } = await invite(app);

  const { user } = await app.as(ADA).invitations.accept({ key, signature, password: PASSWORD });

  assert.is(user?.email, email);
});

acceptance.run();
