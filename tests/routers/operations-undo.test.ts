import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { interruptedAt } from '../support/database-sessions.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, IDLE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';
import { addUsers, restoreGrants } from '../support/users.ts';

const undo = appSuite('operations.undo');

undo.before.each(async ({ app }) => {
  await restoreGrants(app);
  await sql`
    delete from memberships m using users u where u.id = m.user_id and not m.is_admin
      and (u.email like '%@acme.test' and m.client_id = 2 or u.email = ${EDSGER} and m.client_id = 1)`.execute(
    app.db(),
  );
});

const read = async (app: TestApp, email: string) => {
  const { apps, is_active } = await app.as(ROOT).users.get({ email });
  return { apps, is_active };
};

/** Ids of the clients that the user belongs to. */
const clientsOf = async (app: TestApp, email: string): Promise<number[]> =>
  (await app.as(ROOT).memberships.list({ email })).map(({ client }) => client);

type Undone = Awaited<ReturnType<ReturnType<TestApp['as']>['operations']['undo']>>;

/** What was not reverted. */
const skippedBy = ({ skipped }: Undone) =>
  skipped.map(({ email, app_id, problem }) => [email, app_id, problem.code]).sort();

const bulk = async (
  app: TestApp,
  emails: string[],
  action: 'grant-apps' | 'revoke-apps' | 'deactivate',
  apps?: string[],
  as = ROOT,
): Promise<string> => (await app.as(as).users.bulkUpdate({ emails, action, apps })).operation;

/** Invites a user to a client, and returns what accepts the invitation. */
const inviteUser = async (app: TestApp, email: string, client: number, apps: string[]) => {
  const [invitation] = await app
    .as(ROOT)
    .invitations.create({ items: [{ email, client, initial_apps: apps }] });
  const { pathname, searchParams } = new URL(app.links.invitation(invitation?.key ?? ''));
  const [, , key = ''] = pathname.split('/');
  const signature = searchParams.get('signature') ?? '';
  return () => app.as(email).invitations.accept({ key, signature });
};

undo('reverts grants and revocations, and records it', async ({ app }) => {
  const acme = app.as(ACME);
  const operation = await bulk(app, [ADA, GRACE], 'revoke-apps', [SALES], ACME);

  const result = await acme.operations.undo({ id: operation });

  assert.equal(result, { operation, reverted: 2, skipped: [], is_finished: true });
  assert.equal((await read(app, ADA)).apps, [SALES, CHURN]);
  assert.equal((await read(app, GRACE)).apps, [SALES]);
  const entries = await acme.audit.list({ operation });
  const recorded = entries.map(({ target, details }) => [target, details.is_undo === true, details.granted]);
  assert.equal(recorded.sort(), [
    [ADA, false, []],
    [ADA, true, [SALES]],
    [GRACE, false, []],
    [GRACE, true, [SALES]],
  ]);
});

undo('leaves alone what was changed since, and reports it', async ({ app }) => {
  const root = app.as(ROOT);
  const operation = await bulk(app, [ADA, GRACE, EDSGER], 'grant-apps', [CHURN, FLEET]);
  await root.users.update({ email: GRACE, apps: [SALES, CHURN] });

  const result = await root.operations.undo({ id: operation });

  assert.is(result.reverted, 3);
  assert.equal(skippedBy(result), [[GRACE, FLEET, 'changed-since']]);
  assert.equal((await read(app, GRACE)).apps, [SALES]);
  assert.equal((await read(app, EDSGER)).apps, [FLEET]);
});

undo('ends the memberships that the operation began', async ({ app }) => {
  const operation = await bulk(app, [GRACE], 'grant-apps', [FLEET]);
  assert.ok((await app.as(GLOBEX).users.list({ search: GRACE })).length > 0);
  const { id: view } = await app.as(GLOBEX).accessViews.create({ app: 'fleet', user_email: GRACE });

  await app.as(ROOT).operations.undo({ id: operation });

  assert.equal(await clientsOf(app, GRACE), [1]);
  const { is_active } = await rowOf(app, 'access_views', { id: view });
  assert.is(is_active, false, 'an access view that opens the app as the user');
  await rejectsWith(app.as(GLOBEX).users.get({ email: GRACE }), 'not-found');
});

undo('keeps apps that were revoked and granted again since, however that was done', async ({ app }) => {
  const root = app.as(ROOT);
  const emails = [GRACE, EDSGER, IDLE];
  const accept = await inviteUser(app, EDSGER, 1, [CHURN]);
  const operation = await bulk(app, emails, 'grant-apps', [CHURN]);
  await bulk(app, emails, 'revoke-apps', [CHURN]);
  await root.users.update({ email: GRACE, apps: [SALES, CHURN] });
  await root.access.update({ id: 1, cells: [{ email: IDLE, app_id: CHURN, granted: true }] });
  await accept();

  const result = await root.operations.undo({ id: operation });

  assert.is(result.reverted, 0);
  assert.equal(skippedBy(result), emails.map((email) => [email, CHURN, 'changed-since']).sort());
  for (const email of emails) assert.ok((await read(app, email)).apps.includes(CHURN), email);
});

undo('keeps memberships that something else has confirmed since', async ({ app }) => {
  const root = app.as(ROOT);
  const emails = [ADA, GRACE, IDLE];
  const accept = await inviteUser(app, ADA, 2, []);
  const operation = await bulk(app, emails, 'grant-apps', [FLEET]);
  await accept();
  await root.roles.setClientAdmin({ id: 2, email: GRACE, is_admin: true });
  await root.roles.setClientAdmin({ id: 2, email: GRACE, is_admin: false });

  const result = await root.operations.undo({ id: operation });

  assert.equal([result.reverted, result.skipped], [3, []]);
  for (const email of [ADA, GRACE]) assert.equal(await clientsOf(app, email), [1, 2]);
  assert.equal(await clientsOf(app, IDLE), [1]);
});

undo('reports all that it has reverted when it is repeated after an interruption', async ({ app }) => {
  const operation = await bulk(app, [ADA, GRACE, IDLE], 'grant-apps', [FLEET]);
  await app.as(ROOT).users.update({ email: ADA, apps: [SALES, CHURN] });
  const send = () => app.send(`POST /jb/operations/${operation}/undo/`, { as: ROOT });

  const first = await interruptedAt(app, 'audit_entries', 1, send);
  const second = await send();
  const third = await send();

  assert.equal([first.statusCode, second.statusCode], [503, 200]);
  const { reverted, is_finished } = second.json();
  assert.equal([reverted, is_finished], [2, true]);
  assert.equal(skippedBy(second.json()), [[ADA, FLEET, 'changed-since']]);
  assert.equal(third.json(), second.json());
  assert.equal((await read(app, GRACE)).apps, [SALES]);
});

undo('reactivates users who were not activated or deactivated since', async ({ app }) => {
  const root = app.as(ROOT);
  const operation = await bulk(app, [ADA, GRACE], 'deactivate');
  app.clock.advance(MINUTE_MS);
  await root.users.update({ email: GRACE, is_active: true });
  app.clock.advance(MINUTE_MS);
  await root.users.update({ email: GRACE, is_active: false });

  const result = await root.operations.undo({ id: operation });

  assert.equal([result.reverted, skippedBy(result)], [1, [[GRACE, null, 'changed-since']]]);
  assert.is((await read(app, ADA)).is_active, true);
  assert.is((await read(app, GRACE)).is_active, false);
});

undo('reports users whom the actor may no longer change', async ({ app }) => {
  const [one, other] = ['stays@acme.test', 'becomes.staff@acme.test'];
  for (const email of [one, other]) await app.as(ACME).users.create({ email });
  const operation = await bulk(app, [one, other], 'deactivate', undefined, ACME);
  await app.as(ROOT).roles.update({ email: other, is_staff: true });

  const result = await app.as(ACME).operations.undo({ id: operation });

  assert.equal(skippedBy(result), [[other, null, 'forbidden']]);
  assert.is(result.reverted, 1);
  assert.equal(await app.as(ACME).operations.undo({ id: operation }), result, 'a repeat reports it again');
});

undo('happens once, and is reported to all who request it at the same time', async ({ app }) => {
  const operation = await bulk(app, [ADA, GRACE, IDLE], 'grant-apps', [FLEET]);

  const results = await Promise.all([0, 1, 2].map(() => app.as(ROOT).operations.undo({ id: operation })));

  for (const result of results)
    assert.equal(result, { operation, reverted: 3, skipped: [], is_finished: true });
  assert.is((await app.as(ROOT).audit.list({ operation, target: GRACE })).length, 2);
  assert.equal((await read(app, GRACE)).apps, [SALES]);
});

undo('is refused to others, for unknown operations, and after ten minutes', async ({ app }) => {
  const operation = await bulk(app, [GRACE], 'grant-apps', [CHURN], ACME);

  await rejectsWith(app.as(ROOT).operations.undo({ id: operation }), 'not-found');
  await rejectsWith(app.as(EDSGER).operations.undo({ id: operation }), 'forbidden');
  await rejectsWith(app.as(ACME).operations.undo({ id: 'no-uuid' }), 'not-found');
  app.clock.advance(10 * MINUTE_MS + 1);
  const late = await app.send(`POST /jb/operations/${operation}/undo/`, { as: ACME });

  assert.equal([late.statusCode, late.json().title], [409, 'Expired undo']);
  assert.equal((await read(app, GRACE)).apps, [SALES, CHURN]);
});

undo('stops when the actor loses access while it runs', async ({ app }) => {
  await addUsers(app, 51);
  const filter = { search: 'many.test' };
  const { operation } = await app.as(ACME).users.bulkUpdate({ filter, action: 'deactivate' });
  await sql`
    create function lose_access() returns trigger language plpgsql as $$
      begin update users set is_active = false where email = '${sql.raw(ACME)}'; return null; end $$;
    create trigger lose_access after update on operation_changes execute function lose_access()`.execute(
    app.db(),
  );

  await rejectsWith(app.as(ACME).operations.undo({ id: operation }), 'unauthenticated');

  await sql`drop function lose_access cascade`.execute(app.db());
  await setRows(app, 'users', { email: ACME }, { is_active: true });
  assert.equal(await app.as(ROOT).users.count({ ...filter, is_active: false }), { count: 51 });
});

undo.run();
