import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { claimsIn, setApp, setClient } from '../support/access-views.ts';
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

const explanation = appSuite('access');

const explain = (app: TestApp, email: string, app_id = SALES, who = ACME) =>
  app.as(who).access.explain({ email, app_id });

const codesOf = async (app: TestApp, email: string, app_id = SALES) =>
  (await explain(app, email, app_id)).blockers.map(({ code }) => code);

explanation('explain names each way to an app', async ({ app }) => {
  const { id, name } = await app
    .as(ACME)
    .groups.create({ id: 1, name: 'Finance', members: [GRACE], apps: [SALES] });
  await app.as(ACME).grants.update({ app_id: SALES, email: GRACE, reason: 'Audit' });
  const { allowed, paths, blockers } = await explain(app, GRACE);

  assert.equal([allowed, blockers], [true, []]);
  assert.equal(
    paths.map(({ kind, group, reason, granted_by }) => [kind, group, reason, granted_by]),
    [
      ['grant', null, 'Audit', null],
      ['group', { id, name }, '', ACME],
    ],
  );
  const roles = async (email: string) =>
    (await explain(app, email, SALES, ROOT)).paths.map(({ role }) => role);
  assert.equal([await roles(ROOT), await roles(ACME)], [['superuser'], ['client-admin']]);
  await app.as(ACME).groups.remove({ id: 1, group_id: id });
});

explanation('explain names all that keeps a person out, and what to do about it', async ({ app }) => {
  assert.equal(await codesOf(app, IDLE), ['user-inactive', 'not-granted']);
  assert.equal(await codesOf(app, GRACE, CHURN), ['not-granted']);
  await setApp(app, { in_maintenance: true });
  await setClient(app, 1, false);
  const { allowed, blockers } = await explain(app, IDLE);
  assert.is(allowed, false);
  assert.equal(
    blockers.map(({ code }) => code),
    ['user-inactive', 'not-granted', 'client-closed', 'in-maintenance'],
  );
  assert.ok(blockers.every(({ detail, fix, fixed_by }) => detail && fix && fixed_by));
  await setApp(app, { in_maintenance: false });
  await setClient(app, 1, true);

  await sql`update app_grants set expires_at = ${app.clock.now()}::timestamptz where app_id = ${SALES}
    and user_id = (select id from users where email = ${GRACE})`.execute(app.db());
  assert.equal(await codesOf(app, GRACE), ['grant-expired']);
  await app.as(ACME).grants.create({ app_id: SALES, email: GRACE });
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });
  await app.as(ACME).users.update({ email: GRACE, is_active: false });
  assert.equal(await codesOf(app, GRACE), ['member-suspended', 'not-granted']);
  await app.as(ACME).users.update({ email: GRACE, is_active: true, apps: [SALES] });
});

explanation('explain is for those who see the person and the client, and for the person', async ({ app }) => {
  assert.is((await explain(app, ADA, SALES, ADA)).allowed, true);
  assert.is((await explain(app, ADA, CHURN, ADA)).paths.length >= 0, true);
  await rejectsWith(explain(app, ADA, FLEET, ADA), 'not-found');
  await rejectsWith(explain(app, GRACE, SALES, ADA), 'not-found');
  await rejectsWith(explain(app, EDSGER, FLEET, ACME), 'not-found');
  await rejectsWith(explain(app, GRACE, FLEET, ACME), 'not-found');
  await rejectsWith(explain(app, ADA, SALES, GLOBEX), 'not-found');
  await rejectsWith(explain(app, ADA, 'AAAAAAAA', ROOT), 'not-found');
});

explanation('effective lists whoever opens the app, by every path', async ({ app }) => {
  await app.as(ACME).groups.create({ id: 1, name: 'Finance', members: [GRACE, IDLE], apps: [CHURN] });
  const ends = new Date(app.clock.now().getTime() + 86_400_000);
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

explanation('effective is paged by address, and shows client admins their people alone', async ({ app }) => {
  const all = await app.as(ACME).access.effective({ app_id: SALES });
  const visible = (await app.as(ACME).users.list({})).map(({ email }) => email);
  assert.ok(all.every(({ email }) => visible.includes(email)));
  const [first, ...rest] = all;
  const after = await app.as(ACME).access.effective({ app_id: SALES, cursor: first?.email ?? '' });
  assert.equal(after, rest);
  await rejectsWith(app.as(ADA).access.effective({ app_id: SALES }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).access.effective({ app_id: SALES }), 'not-found');
});

const preview = appSuite('users.preview');

preview('shows what the person sees, within the clients of the caller, and is audited', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });
  const seenBy = async (who: string, email: string) =>
    (await app.as(who).users.preview({ email })).apps.map(({ id }) => id);
  const home = async (email: string) => (await app.as(email).apps.list({})).map(({ id }) => id);

  assert.equal(await seenBy(ROOT, GRACE), await home(GRACE));
  assert.equal(await seenBy(ACME, GRACE), [SALES]);
  assert.equal(await seenBy(GLOBEX, GRACE), [FLEET]);
  assert.equal(await seenBy(ROOT, ACME), await home(ACME));
  assert.equal(await app.as(ROOT).users.preview({ email: IDLE }), { is_active: false, apps: [] });
  const looks = async (who: string) =>
    (await app.as(who).audit.list({ action: 'user.preview', target: GRACE })).map(({ actor }) => actor);
  assert.equal(await looks(ACME), [ACME, ROOT]);
  assert.equal(await looks(GLOBEX), [GLOBEX, ROOT]);
  assert.equal(await looks(ROOT), [GLOBEX, ACME, ROOT]);
});

preview('is for those who administer the person', async ({ app }) => {
  await rejectsWith(app.as(ADA).users.preview({ email: GRACE }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).users.preview({ email: ADA }), 'not-found');
  await rejectsWith(app.as(STAFF).users.preview({ email: ADA }), 'forbidden');
});

const EXTRA = { region: 'of-globex' };

let created = 0;

/** A member of Globex with data of it. */
const addPerson = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `person-${created}@globex.test`;
  await app.as(GLOBEX).users.create({ email, apps: [FLEET], extra: EXTRA, is_demo_user: true });
  return email;
};

const claimsOf = async (app: TestApp, email: string, appId: string) => {
  const { ticket } = await app.as(email).apps.openTicket({ app_id: appId });
  const { data_permissions, is_demo_user } = claimsIn(ticket);
  return { data_permissions, is_demo_user };
};

explanation(
  'data of clients ends when the undo of an operation ends the last membership',
  async ({ app }) => {
    const email = await addPerson(app);
    const root = app.as(ROOT);
    const { operation } = await root.users.bulkUpdate({
      emails: [email],
      action: 'grant-apps',
      apps: [SALES],
    });
    await app.as(GLOBEX).memberships.remove({ id: 2, email });
    await root.operations.undo({ id: operation });

    const left = await root.users.get({ email });
    assert.equal([left.extra, left.is_demo_user], [{}, false]);
  },
);

explanation(
  'data of clients is not in the tickets of staff for apps of other clients, which get that of the account',
  async ({ app }) => {
    const email = await addPerson(app);
    await app.as(ROOT).roles.update({ email, is_staff: true });

    assert.equal(await claimsOf(app, email, SALES), { data_permissions: null, is_demo_user: false });
    assert.equal(await claimsOf(app, email, FLEET), { data_permissions: EXTRA, is_demo_user: true });
    await app.as(ROOT).users.update({ email, extra: { region: 'all' } });
    assert.equal((await claimsOf(app, email, SALES)).data_permissions, { region: 'all' });
  },
);

explanation('data of clients ends with the client, if the person belongs to no other', async ({ app }) => {
  const { id: site } = await app.as(ROOT).sites.create({ name: 'Short-lived', domain: 'short.example.com' });
  const client = await app.as(ROOT).clients.create({ name: 'Short-lived', site });
  const email = 'of-short-lived@x.test';
  await app.as(ROOT).users.create({ email, client: client.id, extra: EXTRA, is_demo_user: true });
  await setClient(app, client.id, false);
  await app.as(ROOT).clients.remove({ id: client.id, confirm_name: 'Short-lived' });

  const left = await app.as(ROOT).users.get({ email });
  assert.equal([left.extra, left.is_demo_user], [{}, false]);
});

explanation(
  'data of clients of the first client counts in all apps that a superuser gives at once',
  async ({ app }) => {
    const email = 'of-both@x.test';
    await app.as(ROOT).users.create({ email, apps: [SALES, FLEET], extra: EXTRA });

    for (const appId of [SALES, FLEET])
      assert.equal((await claimsOf(app, email, appId)).data_permissions, EXTRA);
  },
);

explanation.run();
preview.run();
