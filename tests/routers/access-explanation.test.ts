import * as assert from 'uvu/assert';
import { claimsIn, setApp, setClient, userId } from '../support/access-views.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { opens } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, IDLE, ROOT, type TestApp } from '../support/test-app.ts';
import { inDays } from '../support/time.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const access = appSuite('access');

const explain = (app: TestApp, email: string, app_id = SALES, who = ACME) =>
  app.as(who).access.explain({ email, app_id });

const codesOf = async (app: TestApp, email: string, app_id = SALES) =>
  fieldOf((await explain(app, email, app_id)).blockers, 'code');

access('explain names each way to an app', async ({ app }) => {
  const finance = { id: 1, name: 'Finance', members: [GRACE], apps: [SALES] };
  const { id, name } = await app.as(ACME).groups.create(finance);
  await app.as(ACME).grants.update({ app_id: SALES, email: GRACE, reason: 'Audit' });
  const { allowed, paths, blockers } = await explain(app, GRACE);

  assert.equal([allowed, blockers], [true, []]);
  assert.equal(fieldsOf(paths, 'kind', 'group', 'reason', 'granted_by'), [
    ['grant', null, 'Audit', null],
    ['group', { id, name }, '', ACME],
  ]);
  const roles = async (email: string) => fieldOf((await explain(app, email, SALES, ROOT)).paths, 'role');
  assert.equal([await roles(ROOT), await roles(ACME)], [['superuser'], ['client-admin']]);
  await app.as(ACME).groups.remove({ id: 1, group_id: id });
});

access('explain names all that keeps a person out, and what to do about it', async ({ app }) => {
  await setApp(app, { in_maintenance: true });
  await setClient(app, 1, false);
  const { allowed, blockers } = await explain(app, IDLE);
  assert.is(allowed, false);
  assert.equal(fieldOf(blockers, 'code'), [
    'user-inactive',
    'not-granted',
    'client-closed',
    'in-maintenance',
  ]);
  assert.ok(blockers.every(({ detail, fix, fixed_by }) => detail && fix && fixed_by));
  await setApp(app, { in_maintenance: false });
  await setClient(app, 1, true);

  const grant = { app_id: SALES, user_id: await userId(app, GRACE) };
  await setRows(app, 'app_grants', grant, { expires_at: app.clock.now() });
  assert.equal(await codesOf(app, GRACE), ['grant-expired']);
  await app.as(ACME).grants.create({ app_id: SALES, email: GRACE });
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });
  await app.as(ACME).users.update({ email: GRACE, is_active: false });
  assert.equal(await codesOf(app, GRACE), ['member-suspended'], 'the grant is kept');
  await app.as(ACME).users.update({ email: GRACE, is_active: true, apps: [SALES] });
});

access('explain is for those who see the person and the client, and for the person', async ({ app }) => {
  assert.is((await explain(app, ADA, SALES, ADA)).allowed, true);
  for (const [person, appId, caller] of [
    [ADA, FLEET, ADA],
    [GRACE, SALES, ADA],
    [EDSGER, FLEET, ACME],
    [GRACE, FLEET, ACME],
    [ADA, SALES, GLOBEX],
    [ADA, 'AAAAAAAA', ROOT],
  ] as const)
    await rejectsWith(explain(app, person, appId, caller), 'not-found');
});

access('preview shows what the person sees in the clients of the caller, audited', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });
  const seenBy = async (who: string, email: string) =>
    fieldOf((await app.as(who).users.preview({ email })).apps, 'id');

  assert.equal(await seenBy(ROOT, GRACE), await opens(app, GRACE));
  assert.equal(await seenBy(ACME, GRACE), [SALES]);
  assert.equal(await seenBy(GLOBEX, GRACE), [FLEET]);
  assert.equal(await seenBy(ROOT, ACME), await opens(app, ACME));
  assert.equal(await app.as(ROOT).users.preview({ email: IDLE }), { is_active: false, apps: [] });
  const looks = async (who: string) =>
    fieldOf(await app.as(who).audit.list({ action: 'user.preview', target: GRACE }), 'actor');
  assert.equal(await looks(ACME), [ACME, ROOT]);
  assert.equal(await looks(GLOBEX), [GLOBEX, ROOT]);
  await rejectsWith(app.as(ADA).users.preview({ email: GRACE }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).users.preview({ email: ADA }), 'not-found');
});

access('effective lists whoever opens the app, by every path', async ({ app }) => {
  await app.as(ACME).groups.create({ id: 1, name: 'Finance', members: [GRACE, IDLE], apps: [CHURN] });
  const ends = inDays(app, 1);
  await app.as(ACME).users.update({ email: ADA, apps: [SALES] });
  await app.as(ACME).grants.create({ app_id: CHURN, email: ADA, expires_at: ends, reason: 'Audit' });
  const people = await app.as(ROOT).access.effective({ app_id: CHURN });

  const seen = Object.fromEntries(people.map(({ email, ...person }) => [email, person]));
  assert.is(seen[IDLE], undefined);
  assert.equal([seen[GRACE]?.groups, seen[GRACE]?.role, seen[GRACE]?.ends_at], [['Finance'], null, null]);
  assert.equal(
    [seen[ADA]?.is_granted, seen[ADA]?.granted_by, seen[ADA]?.reason, seen[ADA]?.ends_at],
    [true, ACME, 'Audit', ends],
  );
  assert.equal([seen[ACME]?.role, seen[ROOT]?.role], ['client-admin', 'superuser']);
  for (const { email } of await app.as(ROOT).users.list({})) {
    const { paths, blockers } = await explain(app, email, CHURN, ROOT);
    const opens = paths.length > 0 && blockers.length === 0;
    assert.is(email in seen, opens, email);
  }
});

access('effective is paged by address, and shows client admins their people alone', async ({ app }) => {
  const all = await app.as(ACME).access.effective({ app_id: SALES });
  const visible = (await app.as(ACME).users.list({})).map(({ email }) => email);
  assert.ok(all.every(({ email }) => visible.includes(email)));
  const [first, ...rest] = all;
  const after = await app.as(ACME).access.effective({ app_id: SALES, cursor: first?.email ?? '' });
  assert.equal(after, rest);
  await rejectsWith(app.as(ADA).access.effective({ app_id: SALES }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).access.effective({ app_id: SALES }), 'not-found');
});

const EXTRA = { region: 'of-globex' };

/** A member of Globex with data of it. */
const addPerson = async (app: TestApp, email: string): Promise<string> => {
  await app.as(GLOBEX).users.create({ email, apps: [FLEET], extra: EXTRA, is_demo_user: true });
  return email;
};

const claimsOf = async (app: TestApp, email: string, appId: string) => {
  const { ticket } = await app.as(email).apps.openTicket({ app_id: appId });
  const { data_permissions, is_demo_user } = claimsIn(ticket);
  return { data_permissions, is_demo_user };
};

access('data of a client ends when an undo ends the last membership', async ({ app }) => {
  const email = await addPerson(app, 'undone@globex.test');
  const root = app.as(ROOT);
  const grant = { emails: [email], action: 'grant-apps' as const, apps: [SALES] };
  const { operation } = await root.users.bulkUpdate(grant);
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  await root.operations.undo({ id: operation });

  const left = await root.users.get({ email });
  assert.equal([left.extra, left.is_demo_user], [{}, false]);
});

access('data of a client is not in tickets of staff for apps of other clients', async ({ app }) => {
  const email = await addPerson(app, 'staff@globex.test');
  await app.as(ROOT).roles.update({ email, is_staff: true });

  assert.equal(await claimsOf(app, email, SALES), { data_permissions: null, is_demo_user: false });
  assert.equal(await claimsOf(app, email, FLEET), { data_permissions: EXTRA, is_demo_user: true });
  await app.as(ROOT).users.update({ email, extra: { region: 'all' } });
  assert.equal((await claimsOf(app, email, SALES)).data_permissions, { region: 'all' }, 'of the account');
});

access('data of a client ends with it, if the person belongs to no other', async ({ app }) => {
  const root = app.as(ROOT);
  const { id: site } = await root.sites.create({ name: 'Short-lived', domain: 'short.example.com' });
  const { id } = await root.clients.create({ name: 'Short-lived', site });
  const email = 'of-short-lived@x.test';
  await root.users.create({ email, client: id, extra: EXTRA, is_demo_user: true });
  await setClient(app, id, false);
  await root.clients.remove({ id, confirm_name: 'Short-lived' });

  const left = await root.users.get({ email });
  assert.equal([left.extra, left.is_demo_user], [{}, false]);
});

access('data counts in the apps of all clients that a superuser gives at once', async ({ app }) => {
  const email = 'of-both@x.test';
  await app.as(ROOT).users.create({ email, apps: [SALES, FLEET], extra: EXTRA });

  for (const appId of [SALES, FLEET])
    assert.equal((await claimsOf(app, email, appId)).data_permissions, EXTRA);
});

access('compare shows what two people have in the client of an app, and why', async ({ app }) => {
  await app.as(ACME).users.update({ email: ADA, extra: { region: ['North'] } });
  const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Analysts', members: [ADA], apps: [CHURN] });
  const { app: compared, people } = await app
    .as(ACME)
    .apps.compare({ app_id: CHURN, people: `${ACME},${ADA}` });
  const idle = await app.as(ACME).apps.compare({ app_id: CHURN, people: `${ADA},${IDLE}` });

  assert.is(compared.slug, 'churn');
  assert.equal(fieldsOf(people, 'email', 'roles', 'groups', 'data_permissions', 'allowed'), [
    [ACME, ['client-admin'], [], null, true],
    [ADA, ['member'], ['Analysts'], { region: ['North'] }, true],
  ]);
  assert.equal(fieldOf(people[1]?.paths ?? [], 'kind'), ['grant', 'group']);
  assert.equal(fieldOf(idle.people[1]?.blockers ?? [], 'code'), ['user-inactive']);
  await app.as(ACME).groups.remove({ id: 1, group_id: id });
});

access('compare needs exactly two people, whom the caller sees with the client', async ({ app }) => {
  const compare = (who: string, people: string, app_id = SALES) =>
    app.as(who).apps.compare({ app_id, people });

  for (const people of [ADA, `${ADA},${ADA}`, `${ADA},${GRACE},${IDLE}`])
    await rejectsWith(compare(ACME, people), 'invalid-input');
  await rejectsWith(compare(ACME, `${ADA},${EDSGER}`), 'not-found');
  await rejectsWith(compare(GLOBEX, `${ADA},${GRACE}`), 'not-found');
  await rejectsWith(compare(ADA, `${ADA},${GRACE}`), 'forbidden');
  const { people } = await compare(ROOT, `${EDSGER},${ROOT}`);
  assert.equal(fieldOf(people, 'roles'), [[], ['superuser']]);
});

access.run();
