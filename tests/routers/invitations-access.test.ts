import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const access = appSuite('invitations to groups, and to apps until a time');

let invited = 0;
const PASSWORD = 'violet-harbor-92-kite';

type Given = { initial_apps?: string[]; groups?: number[]; apps_expire_at?: Date };

const invite = async (app: TestApp, given: Given) => {
  invited += 1;
  const email = `team${invited}@new.test`;
  const [created] = await app.as(ACME).invitations.create({ items: [{ email, client: 1, ...given }] });
  return { email, id: created?.id ?? 0 };
};

/** Accepts by the link, and returns what the person has then. */
const accept = async (app: TestApp, { email, id }: { email: string; id: number }) => {
  const { url } = await app.as(ROOT).invitations.copyLink({ id });
  const [, key = '', signature = ''] =
    /invitations?\/([^/]+)\/(?:\?signature=|#)?([^/]+)\/?$/.exec(url) ?? [];
  const page = await app.as(null).invitations.preview({ key, signature });
  await app.as(null).invitations.accept({ key, signature, password: PASSWORD });
  const { apps } = await app.as(ROOT).users.get({ email });
  const grants = await app.as(ROOT).access.listByUser({ email });
  return { page, apps, ends: grants.map(({ app, expires_at }) => [app, expires_at]) };
};

const makeGroup = async (app: TestApp, client = 1, apps = [CHURN]) =>
  (await app.as(ROOT).groups.create({ id: client, name: `Team ${Math.random()}`, apps })).id;

access('give the apps of the groups, and grants that end', async ({ app }) => {
  const group = await makeGroup(app);
  const end = new Date(app.clock.now().getTime() + 14 * DAY_MS);
  const invitation = await invite(app, { initial_apps: [SALES], groups: [group], apps_expire_at: end });
  const details = await app.as(ACME).invitations.get({ id: invitation.id });
  assert.equal([details.groups, details.apps_expire_at], [[group], end]);

  const { page, apps, ends } = await accept(app, invitation);

  assert.is(page.apps.length, 2);
  assert.equal(apps.toSorted(), [CHURN, SALES].toSorted());
  assert.equal(
    ends.filter(([id]) => id === SALES),
    [[SALES, end]],
  );
  const { members } = await app.as(ACME).groups.get({ id: 1, group_id: group });
  assert.equal(members, [invitation.email]);
  const [path] = (await app.as(ACME).access.explain({ email: invitation.email, app_id: CHURN })).paths;
  assert.equal([path?.kind, path?.granted_by], ['group', ACME]);
});

access('give no app whose time is over when they are accepted', async ({ app }) => {
  const end = new Date(app.clock.now().getTime() + 60_000);
  const invitation = await invite(app, { initial_apps: [SALES], apps_expire_at: end });
  await sql`update invitations set apps_expire_at = ${app.clock.now()}::timestamptz - interval '1 hour' where id = ${invitation.id}`.execute(
    app.db(),
  );

  assert.equal((await accept(app, invitation)).apps, []);
});

access('refuse groups of another client and times in the past, by the name of the field', async ({ app }) => {
  const foreign = await makeGroup(app, 2, [FLEET]);
  const items = [
    { email: 'a@new.test', client: 1, groups: [foreign] },
    { email: 'b@new.test', client: 1, apps_expire_at: new Date(0) },
  ];
  const { fields } = await rejectsWith(app.as(ACME).invitations.create({ items }), 'invalid-input');
  assert.equal(Object.keys(fields ?? {}), ['items.0.groups', 'items.1.apps_expire_at']);
  const { email } = await invite(app, {});
  const update = (changes: object) => app.as(ACME).invitations.update({ email, ...changes });
  const refused = await rejectsWith(update({ groups: [foreign] }), 'invalid-input');
  assert.equal(Object.keys(refused.fields ?? {}), ['groups']);
  const past = await rejectsWith(update({ apps_expire_at: new Date(0) }), 'invalid-input');
  assert.equal(Object.keys(past.fields ?? {}), ['apps_expire_at']);
});

access('are changed while they are pending, and keep what a renewal does not name', async ({ app }) => {
  const [one, two] = [await makeGroup(app), await makeGroup(app, 1, [SALES])];
  const end = new Date(app.clock.now().getTime() + DAY_MS);
  const { email, id } = await invite(app, { initial_apps: [SALES], groups: [one], apps_expire_at: end });
  const stateOf = async () => {
    const { groups, apps_expire_at, initial_apps } = await app.as(ACME).invitations.get({ id });
    return { groups, apps_expire_at, initial_apps };
  };
  await app.as(ACME).invitations.create({ items: [{ email, client: 1, groups: [two] }] });
  assert.equal(await stateOf(), { groups: [one, two], apps_expire_at: end, initial_apps: [SALES] });
  await app.as(ACME).invitations.update({ email, groups: [two], apps_expire_at: null });
  assert.equal(await stateOf(), { groups: [two], apps_expire_at: null, initial_apps: [SALES] });
  await app.as(ACME).groups.remove({ id: 1, group_id: two });
  assert.equal((await stateOf()).groups, []);
});

access('are taken by the path of a client, and not shown in its documented shape', async ({ app }) => {
  const group = await makeGroup(app);
  const created = await app.send('POST /jb/clients/1/users/invitations/', {
    as: ACME,
    payload: { email: 'path@new.test', groups: [group], apps_expire_at: '2099-01-31T12:00:00Z' },
  });
  assert.is(created.statusCode, 200, created.body);
  const { id, groups, apps_expire_at } = created.json();
  assert.equal([groups, apps_expire_at], [undefined, undefined]);
  assert.equal((await app.as(ACME).invitations.get({ id })).groups, [group]);
  assert.equal(
    (await app.as(GLOBEX).invitations.search({})).some((found) => found.id === id),
    false,
  );
});

access.run();
