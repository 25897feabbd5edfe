import * as assert from 'uvu/assert';
import { Problem } from '../../src/lib/problems.ts';
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
} from '../support/test-app.ts';

const audit = appSuite('audit trail');

audit('records actor, action, target, time and address', async ({ app }) => {
  const response = await app.send('PATCH /jb/users/grace@acme.test/', {
    as: ACME,
    payload: { last_name: 'Murray', extra: { note: 'something private' }, apps: [] },
    headers: { 'x-request-id': 'change-1' },
  });
  assert.is(response.statusCode, 200);

  const [entry] = await app.as(ACME).audit.list({ target: GRACE, action: 'user.update' });
  const [apps] = await app.as(ACME).audit.list({ target: GRACE, action: 'user.change-apps' });

  assert.equal(apps?.details, { granted: [], revoked: ['zylTKNVx'] });

  assert.equal(
    { ...entry, id: 0 },
    {
      id: 0,
      timestamp: app.clock.now(),
      action: 'user.update',
      actor: ACME,
      target: GRACE,
      clients: [1],
      details: {
        last_name: { from: 'Hopper', to: 'Murray' },
        extra: { from: null, to: null },
      },
      request_id: 'change-1',
      address: '127.0.0.1',
    },
  );
});

audit('has an entry for every kind of change, and none for failed ones', async ({ app }) => {
  const root = app.as(ROOT);
  const site = await root.sites.create({ domain: 'new.test', name: 'New' });
  const client = await root.clients.create({ name: 'New', site: site.id });
  await root.clients.update({ id: client.id, login_title: 'x'.repeat(255) });
  await root.users.create({ email: 'new@new.test', client: client.id });
  await root.roles.update({ email: 'new@new.test', is_staff: true });
  await root.roles.setClientAdmin({ id: client.id, email: 'new@new.test', is_admin: true });
  await root.roles.setClientAdmin({ id: client.id, email: 'new@new.test', is_admin: false });
  await root.apps.update({ app_id: 'zylTKNVx', in_maintenance: true });
  await root.apps.clearCache({ app_id: 'zylTKNVx' });
  await root.appPackages.fetch({ app_slug: 'sales' }).catch(() => null);
  await root.users.deactivate({ email: 'new@new.test' });
  await root.savedFilters.create({ stack_id: 'a0a91e46', hash: 'h', name: 'n' });
  const changed = { stack_id: 'a0a91e46', hash: 'h', name: 'renamed' };
  await root.savedFilters.replace({ hash: 'h', filter: changed });
  await root.savedFilters.remove({ hash: 'h' });
  await rejectsWith(root.users.deactivate({ email: ROOT }), 'self-modification');

  const actions = (await root.audit.list({ actor: ROOT, limit: 200 })).map(({ action }) => action);

  assert.equal(actions.toReversed(), [
    'site.create',
    'client.create',
    'client.update',
    'user.create',
    'user.update-roles',
    'client.add-admin',
    'client.remove-admin',
    'app.update',
    'app.clear-cache',
    'user.deactivate',
    'saved-filter.create',
    'saved-filter.update',
    'saved-filter.delete',
    'request.refused',
  ]);
});

audit('records deactivations and reactivations alike, however they were requested', async ({ app }) => {
  const acme = app.as(ACME);
  await acme.users.update({ email: ADA, is_active: false, first_name: 'Augusta' });
  await acme.users.update({ email: ADA, is_active: true });
  await acme.users.deactivate({ email: ADA });
  const { operation } = await acme.users.bulkUpdate({ emails: [ADA], action: 'reactivate' });
  await acme.operations.undo({ id: operation });

  const deactivations = await acme.audit.list({ target: ADA, action: 'user.deactivate' });
  const reactivations = await acme.audit.list({ target: ADA, action: 'user.reactivate' });
  const updates = await acme.audit.list({ target: ADA, action: 'user.update' });

  assert.equal(
    deactivations.toReversed().map(({ details }) => details),
    [{}, {}, { operation, is_undo: true }],
  );
  assert.equal(
    reactivations.toReversed().map(({ details }) => details),
    [{}, { operation }],
  );
  assert.equal(
    updates.map(({ details }) => details),
    [{ first_name: { from: 'Ada', to: 'Augusta' } }],
  );
  await acme.users.update({ email: ADA, is_active: true, first_name: 'Ada' });
});

audit('has an entry for every change of an invitation', async ({ app }) => {
  const acme = app.as(ACME);
  const email = 'invited@new.test';
  const items = [{ email, initial_apps: ['zylTKNVx'] }];
  const [invitation] = await acme.invitations.create({ items });
  const id = invitation?.id ?? 0;
  await acme.invitations.create({ items });
  await acme.invitations.update({ email, extra: { region: 'EU' } });
  await acme.invitations.resend({ id });
  await acme.invitations.copyLink({ id });
  await acme.invitations.revoke({ id });

  const entries = await acme.audit.list({ target: email });

  assert.equal(
    entries.toReversed().map(({ action }) => action),
    [
      'invitation.create',
      'invitation.renew',
      'invitation.update',
      'invitation.resend',
      'invitation.copy-link',
      'invitation.revoke',
    ],
  );
  assert.ok(entries.every(({ actor, clients }) => actor === ACME && clients[0] === 1));
});

audit('records the same refused request of a user once per minute', async ({ app }) => {
  const refused = () => rejectsWith(app.as(GRACE).users.list({}), 'forbidden');
  const entries = () => app.as(ACME).audit.list({ actor: GRACE, action: 'request.refused' });

  await Promise.all([refused(), refused(), refused()]);
  await rejectsWith(app.as(GRACE).mail.list({}), 'forbidden');
  const first = await entries();
  app.clock.advance(60_000);
  await refused();

  assert.equal(first.map(({ details, target, clients }) => [details, target, clients]).toSorted(), [
    [{ request: 'mail.list', problem: 'forbidden' }, '', [1]],
    [{ request: 'users.list', problem: 'forbidden' }, '', [1]],
  ]);
  assert.is((await entries()).length, 3);
  assert.equal(await app.as(GLOBEX).audit.list({ actor: GRACE }), []);
});

audit('records at most ten refused requests of a user per minute', async ({ app }) => {
  const actor = await app.openServices().authentication.findByToken(await app.tokenOf(EDSGER));
  const { refusals } = app.openServices();
  if (!actor) throw new Error('The token of the demo user is not known.');

  for (let number = 0; number < 30; number += 1)
    await refusals.record(actor, `procedure.${number}`, new Problem('forbidden'));

  assert.is((await app.as(GLOBEX).audit.list({ actor: EDSGER, action: 'request.refused' })).length, 10);
});

audit('keeps the entry of a refused request whose transaction was rolled back', async ({ app }) => {
  app.clock.advance(60_000);
  const response = await app.send('PATCH /jb/users/admin@globex.test/', {
    as: GLOBEX,
    payload: { first_name: 'Changed' },
    headers: { 'idempotency-key': 'refused-change', 'x-request-id': 'refused-1' },
  });
  const [entry] = await app.as(GLOBEX).audit.list({ actor: GLOBEX, action: 'request.refused' });

  assert.is(response.statusCode, 403);
  assert.equal(entry?.details, { request: 'users.update', problem: 'client-admin-locked' });
  assert.equal([entry?.request_id, entry?.address], ['refused-1', '127.0.0.1']);
});

audit('records logins and failed logins, without the username as typed', async ({ app }) => {
  const login = (username: string, password: string) =>
    app
      .as(null)
      .tokens.create({ username, password })
      .catch(() => null);
  await login(EDSGER, DEMO_PASSWORD);
  await login(EDSGER, 'a wrong guess');
  await login('my password typed as a name', 'x');

  const all = await app.as(ROOT).audit.list({ limit: 200 });
  const edsger = await app.as(GLOBEX).audit.list({ target: EDSGER });
  const unknown = all.filter(({ action, target }) => action === 'login.fail' && target === '');

  assert.equal(
    edsger.map(({ action, actor }) => [action, actor]),
    [
      ['login.fail', ''],
      ['login.token', EDSGER],
    ],
  );
  assert.is(unknown.length, 1);
  for (const secret of [DEMO_PASSWORD, 'a wrong guess', 'my password']) {
    assert.not.ok(JSON.stringify(all).includes(secret), secret);
  }
});

audit('is append-only', async ({ app }) => {
  for (const statement of [
    `update audit_entries set actor_email = 'another user'`,
    'delete from audit_entries',
    'truncate audit_entries',
  ]) {
    const error = await app.orm.em
      .fork()
      .execute(statement)
      .then(
        () => null,
        (reason: Error) => reason,
      );
    assert.match(error?.message ?? '', /append-only/, statement);
  }
});

audit('has no entry for a change that was rolled back', async ({ app }) => {
  const count = async () => (await app.as(ROOT).audit.list({ target: ADA, limit: 200 })).length;
  const before = await count();

  await rejectsWith(app.as(ROOT).users.update({ email: ADA, apps: ['notAnApp'] }), 'invalid-input');
  await rejectsWith(app.as(ROOT).invitations.create({ items: [{ email: ADA, client: 1 }] }), 'invalid-input');
  await app.as(ROOT).invitations.create({ items: [{ email: 'dry@run.test', client: 1 }], dry_run: true });

  assert.is(await count(), before);
  assert.equal(await app.as(ROOT).audit.list({ target: 'dry@run.test' }), []);
});

audit('has no entry if nothing changed', async ({ app }) => {
  const root = app.as(ROOT);
  const { last_name } = await root.users.get({ email: ADA });
  const before = await root.audit.list({ limit: 200 });

  await root.users.update({ email: ADA, last_name });
  await root.users.deactivate({ email: IDLE });
  await root.roles.update({ email: ADA });
  await root.roles.setClientAdmin({ id: 2, email: ADA, is_admin: false });
  await root.clients.update({ id: 1, name: 'Acme Analytics' });
  await root.apps.update({ app_id: 'zylTKNVx', label: 'Sales' });

  assert.equal(await root.audit.list({ limit: 200 }), before);
});

audit('has an entry for every change of credentials', async ({ app }) => {
  const login = { username: STAFF, password: DEMO_PASSWORD };
  const { id } = await app.as(STAFF).tokens.createNamed({ name: 'export' });
  await app.as(STAFF).tokens.revoke({ id });
  await app.send('POST /session/', { payload: login });
  const [session] = await app.as(STAFF).sessions.list();
  await app.as(STAFF).sessions.revoke({ id: session?.id ?? 0 });
  await app.as(null).passwords.requestReset({ email: STAFF });
  await app.as(ROOT).sessions.revokeAll({ email: STAFF });

  const entries = await app.as(ROOT).audit.list({ target: STAFF, limit: 6 });

  assert.equal(
    entries.toReversed().map(({ action, actor }) => [action, actor]),
    [
      ['token.create', STAFF],
      ['token.revoke', STAFF],
      ['login.session', STAFF],
      ['session.end', STAFF],
      ['password.request-reset', ''],
      ['user.revoke-sessions', ROOT],
    ],
  );
});

audit.run();
