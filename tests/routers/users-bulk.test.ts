import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { outboxOf } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  IDLE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';
import { restoreGrants } from '../support/users.ts';

const bulk = appSuite('users.bulkUpdate');

bulk.before.each(async ({ app }) => {
  const root = app.as(ROOT);
  await restoreGrants(app);
  await root.users.update({ email: IDLE, apps: [], is_active: false });
  await app.db().deleteFrom('outbox_mails').execute();
});

type Result = Awaited<ReturnType<ReturnType<TestApp['as']>['users']['bulkUpdate']>>;
const statuses = ({ results }: Result) =>
  results.map(({ email, status, problem }) => [email, problem?.code ?? status]);

const appsOf = async (app: TestApp, email: string) => (await app.as(ROOT).users.get({ email })).apps;
const isActive = async (app: TestApp, email: string) => (await app.as(ROOT).users.get({ email })).is_active;

bulk('grants and revokes apps, row by row', async ({ app }) => {
  const emails = [ADA, GRACE, 'nobody@acme.test', ACME, ADA];

  const granted = await app.as(ACME).users.bulkUpdate({ emails, action: 'grant-apps', apps: [CHURN] });
  const revoked = await app
    .as(ROOT)
    .users.bulkUpdate({ emails: [ADA, EDSGER], action: 'revoke-apps', apps: [SALES] });

  assert.equal(statuses(granted), [
    [ADA, 'unchanged'],
    [GRACE, 'ok'],
    ['nobody@acme.test', 'not-found'],
    [ACME, 'client-admin-locked'],
  ]);
  assert.is(granted.results[3]?.problem?.detail, 'Client admins cannot be updated through this endpoint.');
  assert.is(granted.next_cursor, null);
  assert.equal(granted.undo_until, new Date(app.clock.now().getTime() + 10 * MINUTE_MS));
  assert.equal(await appsOf(app, GRACE), [SALES, CHURN]);
  assert.equal(statuses(revoked), [
    [ADA, 'ok'],
    [EDSGER, 'unchanged'],
  ]);
  assert.equal(await appsOf(app, ADA), [CHURN]);
});

bulk('deactivates and reactivates by the rules of users.update', async ({ app }) => {
  const token = await app.tokenOf(GRACE);
  const off = await app
    .as(ROOT)
    .users.bulkUpdate({ emails: [GRACE, IDLE, ROOT, ACME], action: 'deactivate' });

  assert.equal(statuses(off), [
    [GRACE, 'ok'],
    [IDLE, 'unchanged'],
    [ROOT, 'self-modification'],
    [ACME, 'client-admin-locked'],
  ]);
  assert.is(await app.openServices().authentication.findByToken(token), null);

  const on = await app.as(ACME).users.bulkUpdate({ emails: [GRACE, STAFF], action: 'reactivate' });
  assert.equal(statuses(on), [
    [GRACE, 'ok'],
    [STAFF, 'not-found'],
  ]);
  assert.ok(await isActive(app, GRACE));
});

bulk('takes a filter, and shows client admins only their users', async ({ app }) => {
  const result = await app.as(ACME).users.bulkUpdate({
    filter: { role: 'member', is_active: true },
    action: 'grant-apps',
    apps: [CHURN],
  });

  assert.equal(statuses(result).sort(), [
    [ADA, 'unchanged'],
    [GRACE, 'ok'],
  ]);
  assert.equal(await appsOf(app, EDSGER), [FLEET]);
});

bulk('refuses apps that the actor may not grant, before it changes anyone', async ({ app }) => {
  const acme = app.as(ACME).users;
  const foreign = await rejectsWith(
    acme.bulkUpdate({ emails: [GRACE], action: 'grant-apps', apps: [CHURN, FLEET] }),
    'invalid-input',
  );

  assert.equal(foreign.fields, { apps: [`There is no app ${FLEET} to grant.`] });
  assert.equal(await appsOf(app, GRACE), [SALES]);
  await rejectsWith(app.as(STAFF).users.bulkUpdate({ emails: [GRACE], action: 'deactivate' }), 'forbidden');
  await rejectsWith(app.as(ADA).users.bulkUpdate({ emails: [GRACE], action: 'deactivate' }), 'forbidden');
});

bulk('requires either addresses or a filter, and apps only where they are used', async ({ app }) => {
  const refused = async (input: Parameters<ReturnType<TestApp['as']>['users']['bulkUpdate']>[0]) =>
    Object.keys((await rejectsWith(app.as(ROOT).users.bulkUpdate(input), 'invalid-input')).fields ?? {});

  assert.equal(await refused({ action: 'deactivate' }), ['emails']);
  assert.equal(await refused({ action: 'deactivate', emails: [ADA], filter: {} }), ['filter']);
  assert.equal(await refused({ action: 'deactivate', emails: [ADA], cursor: ADA }), ['cursor']);
  assert.equal(await refused({ action: 'deactivate', emails: [ADA], apps: [SALES] }), ['apps']);
  assert.equal(await refused({ action: 'grant-apps', emails: [ADA] }), ['apps']);
  const many = Array.from({ length: 1_001 }, (_, n) => `u${n}@acme.test`);
  assert.equal(await refused({ action: 'deactivate', emails: many }), ['emails']);
  assert.ok(await isActive(app, ADA));
});

bulk('records each change with the id of the operation', async ({ app }) => {
  const { operation } = await app
    .as(ACME)
    .users.bulkUpdate({ emails: [GRACE, ADA], action: 'grant-apps', apps: [CHURN] });
  await app.as(ACME).users.bulkUpdate({ emails: [ADA], action: 'deactivate' });

  const entries = await app.as(ACME).audit.list({ operation });

  assert.equal(
    entries.map(({ action, actor, target, details }) => ({ action, actor, target, details })),
    [
      {
        action: 'user.change-apps',
        actor: ACME,
        target: GRACE,
        details: { granted: [CHURN], revoked: [], operation },
      },
    ],
  );
  assert.equal(await app.as(GLOBEX).audit.list({ operation }), []);
});

bulk('continues a filter with the same operation', async ({ app }) => {
  const first = await app
    .as(ROOT)
    .users.bulkUpdate({ filter: { client: 1 }, action: 'grant-apps', apps: [CHURN] });
  const { operation } = first;
  const next = { filter: { client: 1 }, cursor: ADA, operation };
  const second = await app.as(ROOT).users.bulkUpdate({ ...next, action: 'grant-apps', apps: [CHURN] });

  assert.is(second.operation, operation);
  assert.not.ok(second.results.some(({ email }) => email === ADA));
  const other = await rejectsWith(
    app.as(ROOT).users.bulkUpdate({ ...next, action: 'deactivate' }),
    'invalid-input',
  );
  assert.equal(Object.keys(other.fields ?? {}), ['operation']);
  const grant = { ...next, action: 'grant-apps' as const, apps: [CHURN] };
  await rejectsWith(app.as(ACME).users.bulkUpdate(grant), 'not-found');
  app.clock.advance(11 * MINUTE_MS);
  await rejectsWith(app.as(ROOT).users.bulkUpdate(grant), 'undo-expired');
});

bulk('mails links to set a password, and invitations to those without an account', async ({ app }) => {
  const invited = 'guest@acme.test';
  await app.as(ROOT).users.create({ email: 'fresh@acme.test', client: 1, send_email: false });
  await app.as(ACME).clients.invite({ id: 1, email: invited });
  await app.as(GLOBEX).clients.invite({ id: 2, email: 'other@globex.test' });
  await app.db().deleteFrom('outbox_mails').execute();
  const emails = [GRACE, 'fresh@acme.test', invited, IDLE, EDSGER, 'other@globex.test'];

  const result = await app.as(ACME).users.bulkUpdate({ emails, action: 'send-password-link' });
  await outboxOf(app).createLinks();

  assert.equal(statuses(result), [
    [GRACE, 'ok'],
    ['fresh@acme.test', 'ok'],
    [invited, 'ok'],
    [IDLE, 'account-inactive'],
    [EDSGER, 'not-found'],
    ['other@globex.test', 'not-found'],
  ]);
  assert.is(result.undo_until, null);
  const mails = await app
    .db()
    .selectFrom('outbox_mails')
    .select(['kind', 'recipient'])
    .orderBy('id')
    .execute();
  assert.equal(mails, [
    { kind: 'password-reset', recipient: GRACE },
    { kind: 'password-setup', recipient: 'fresh@acme.test' },
    { kind: 'invitation', recipient: invited },
  ]);
  const [entry] = await app.as(ACME).audit.list({ operation: result.operation, target: GRACE });
  assert.equal([entry?.action, entry?.actor], ['password.request-reset', ACME]);
});

bulk('limits the password mails to one address', async ({ app }) => {
  app.clock.advance(DAY_MS);
  const send = () => app.as(ACME).users.bulkUpdate({ emails: [GRACE], action: 'send-password-link' });
  for (let count = 0; count < 5; count += 1) assert.equal(statuses(await send()), [[GRACE, 'ok']]);

  assert.equal(statuses(await send()), [[GRACE, 'throttled']]);
  app.clock.advance(61 * MINUTE_MS);
  assert.equal(statuses(await send()), [[GRACE, 'ok']]);
});

bulk('stops when the actor is deactivated between two users', async ({ app }) => {
  const { authentication, bulkUpdates } = app.openServices();
  const actor = await authentication.findByToken(await app.tokenOf(ACME));
  if (!actor) return assert.unreachable();
  const stale = { ...actor, credential: { kind: 'token' as const, id: 0, authenticatedAt: null } };
  const request = {
    selection: { emails: [GRACE] },
    change: { action: 'deactivate' as const, apps: [] },
    operation: undefined,
  };

  await rejectsWith(bulkUpdates.update(stale, request, null), 'unauthenticated');

  assert.ok(await isActive(app, GRACE));
});

bulk('repeats its response for an idempotency key over REST', async ({ app }) => {
  const send = (payload: object) =>
    app.send('POST /jb/users/bulk/', { as: ACME, payload, headers: { 'idempotency-key': 'bulk-1' } });
  const body = {
    filter: { last_login_before: '2030-01-01T00:00:00Z', role: 'member' },
    action: 'deactivate',
  };

  const first = await send(body);
  await app.as(ROOT).users.update({ email: GRACE, is_active: true });
  const second = await send(body);
  const other = await send({ ...body, action: 'reactivate' });

  assert.is(first.statusCode, 200, first.body);
  assert.equal([second.json(), second.headers['idempotency-replayed']], [first.json(), 'true']);
  assert.equal([other.statusCode, other.json().title], [409, 'Reused idempotency key']);
  assert.ok(await isActive(app, GRACE));
});

bulk.run();
