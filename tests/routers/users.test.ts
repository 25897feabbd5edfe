import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { userId } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowsOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, IDLE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const users = appSuite('users');

users('users.list, users.get returns to a client admin the members of their clients', async ({ app }) => {
  const emails = async (who: string) => (await app.as(who).users.list({})).map((user) => user.email);

  assert.equal(await emails(ACME), [ACME, ADA, GRACE, IDLE]);
  assert.equal(await emails(GLOBEX), [GLOBEX, EDSGER]);
  assert.is((await emails(ROOT)).length, 8);
});

users('users.list, users.get returns to a member only themselves', async ({ app }) => {
  assert.is((await app.as(ADA).users.get({ email: ADA })).email, ADA);
  await rejectsWith(app.as(ADA).users.get({ email: GRACE }), 'not-found');
  await rejectsWith(app.as(ADA).users.list({}), 'forbidden');
});

users('users.list, users.get lists the users of an app by its slug', async ({ app }) => {
  const emails = async (slug: string) => (await app.as(ACME).users.list({ app: slug })).map((u) => u.email);

  assert.equal(await emails('sales'), [ADA, GRACE]);
  assert.equal(await emails('churn'), [ADA]);
  await rejectsWith(emails('fleet'), 'not-found');
  await rejectsWith(emails('nothing'), 'not-found');
  await rejectsWith(emails('No Slug'), 'invalid-input');
});

users('users.list, users.get returns only apps and admin roles that the caller may see', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });

  assert.equal((await app.as(ACME).users.get({ email: GRACE })).apps, [SALES]);
  assert.equal((await app.as(GLOBEX).users.get({ email: GRACE })).apps, [FLEET]);
  assert.equal((await app.as(GRACE).users.get({ email: GRACE })).apps, [SALES, FLEET]);
  assert.equal((await app.as(ROOT).users.get({ email: ACME })).clientadmin_of, [1]);
});

const updating = appSuite('users.update');

updating('changes only the given fields', async ({ app }) => {
  const before = await app.as(ACME).users.get({ email: ADA });
  const after = await app.as(ACME).users.update({ email: ADA, first_name: 'Augusta', extra: { a: [1] } });

  assert.equal(after, { ...before, first_name: 'Augusta', extra: { a: [1] } });
  assert.equal((await app.as(ACME).users.update({ email: ADA, extra: {} })).extra, {});
});

updating('accepts a complete user sent back, and applies only the documented fields', async ({ app }) => {
  const shown = (await app.send(`GET /jb/users/${ADA}/`, { as: ACME })).json();
  const echoed = await app.send(`PATCH /jb/users/${ADA}/`, {
    as: ACME,
    payload: { ...shown, handle: '@root', last_login: null, is_superuser: true, is_staff: true },
  });

  assert.equal(echoed.json(), shown);
  await rejectsWith(app.as(ADA).users.list({}), 'forbidden');
});

updating('keeps the apps of other clients', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });

  await app.as(ACME).users.update({ email: GRACE, apps: [CHURN] });
  assert.equal((await app.as(ROOT).users.get({ email: GRACE })).apps, [CHURN, FLEET]);
  await app.as(GLOBEX).users.update({ email: GRACE, apps: [] });
  assert.equal((await app.as(ROOT).users.get({ email: GRACE })).apps, [CHURN]);
});

updating('refuses apps of other clients alike, whether the user has them or not', async ({ app }) => {
  for (const apps of [[], [FLEET]]) {
    await app.as(ROOT).users.update({ email: GRACE, apps });
    const attempt = app.as(ACME).users.update({ email: GRACE, apps: [SALES, FLEET] });
    const { fields } = await rejectsWith(attempt, 'invalid-input');
    assert.equal(fields, { apps: ['There is no app Hb7cW2ke to grant.'] });
  }
});

updating('keeps both changes if admins of two clients set apps concurrently', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [FLEET, SALES] });
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([
      app.as(ACME).users.update({ email: GRACE, apps: round % 2 ? [SALES] : [CHURN] }),
      app.as(GLOBEX).users.update({ email: GRACE, apps: round % 2 ? [FLEET] : [] }),
    ]);
    const expected = round % 2 ? [SALES, FLEET] : [CHURN];
    assert.equal((await app.as(ROOT).users.get({ email: GRACE })).apps, expected);
  }
});

updating('refuses to change client admins', async ({ app }) => {
  for (const who of [ROOT, ACME]) {
    const attempt = app.as(who).users.update({ email: ACME, first_name: 'X' });
    assert.is((await rejectsWith(attempt, 'client-admin-locked')).status, 403);
  }
  await rejectsWith(app.as(ACME).users.update({ email: GLOBEX, first_name: 'X' }), 'not-found');
});

updating('keeps extra as sent, and limits its size', async ({ app }) => {
  const nested = (depth: number) => JSON.parse(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);
  const kept = { ключ: 'значение', 'a.b': { '': [null, 1.5, 'x\0y'] }, z: 1, a: 2 };
  const set = (extra: Record<string, unknown>) => app.as(ACME).users.update({ email: ADA, extra });

  assert.is(JSON.stringify((await set(kept)).extra), JSON.stringify(kept));
  await set({ text: 'x'.repeat(65_000) });
  await set(nested(400));
  for (const extra of [{ text: 'x'.repeat(66_000) }, nested(600), nested(30_000)]) {
    assert.ok((await rejectsWith(set(extra), 'invalid-input')).fields?.extra);
  }
});

const PATH = `/jb/users/${ADA}/`;

updating('writes neither the user nor the audit trail if nothing changes', async ({ app }) => {
  const row = () => sql`select xmin::text, ctid::text from users where email = ${ADA}`.execute(app.db());
  const { first_name, apps } = (await app.send(`GET ${PATH}`, { as: ROOT })).json();
  const before = [(await row()).rows, await rowsOf(app, 'audit_entries', { target_label: ADA })];
  // A row lock only changes `xmax`.
  await app.send(`PATCH ${PATH}`, { as: ROOT, payload: { first_name, apps } });

  assert.equal([(await row()).rows, await rowsOf(app, 'audit_entries', { target_label: ADA })], before);
});

/** Replaces the usage of a user. */
const setUsage = async (app: TestApp, email: string, day: string, app_id = SALES) => {
  const user_id = await userId(app, email);
  await app.db().deleteFrom('usage_days').where('user_id', '=', user_id).execute();
  await addRows(app, 'usage_days', { app_id, user_id, day, actions: 1 });
};

const people = appSuite('users.people');

people('returns pages of the users of users.list, in the same order', async ({ app }) => {
  const emailsOf = (rows: { email: string }[]) => rows.map(({ email }) => email);
  const listed = emailsOf(await app.as(ROOT).users.list({ sort: '-email', limit: 5 }));

  const first = emailsOf(await app.as(ROOT).users.people({ sort: '-email', limit: 3 }));
  const rest = await app.as(ROOT).users.people({ sort: '-email', limit: 2, cursor: first.at(-1) });

  assert.equal([...first, ...emailsOf(rest)], listed);
  const seen = await app.as(ACME).users.people({});
  assert.equal(emailsOf(seen), emailsOf(await app.as(ACME).users.list({ limit: 100 })));
  await rejectsWith(app.as(ADA).users.people({}), 'forbidden');
});

people('names the apps, the groups, the roles and the last use of each person', async ({ app }) => {
  const acme = app.as(ACME);
  const { id } = await acme.groups.create({ id: 1, name: 'Analysts', members: [ADA], apps: [CHURN] });
  await setUsage(app, ADA, '2026-09-02');
  const find = async (email: string, as = ACME) =>
    (await app.as(as).users.people({ search: email })).find((person) => person.email === email);

  await app.as(ROOT).roles.setInClient({ id: 1, email: ADA, roles: ['auditor'] });

  const ada = await find(ADA);
  assert.equal([ada?.app_labels, ada?.groups], [['Sales', 'Churn'], ['Analysts']]);
  assert.is(ada?.last_used_day, '2026-09-02');
  assert.equal(
    [ada?.role, ada?.clients, ada?.client_roles],
    [null, [1], [{ client: 1, roles: ['auditor'] }]],
  );
  assert.equal((await find(ACME))?.client_roles, [{ client: 1, roles: ['client-admin'] }]);
  assert.is((await find(ROOT, ROOT))?.role, 'superuser');
  const [member, ...others] = await acme.users.people({ group: id });
  assert.equal([member?.email, others], [ADA, []]);
});

people('shows a client admin nothing of another client', async ({ app }) => {
  const team = { id: 2, name: 'Secret', members: [EDSGER], apps: [FLEET] };
  const { id } = await app.as(GLOBEX).groups.create(team);
  await setUsage(app, EDSGER, '2026-09-03', FLEET);
  await addRows(app, 'memberships', { client_id: 1, user_id: await userId(app, EDSGER) });
  await app.as(ROOT).roles.setInClient({ id: 2, email: EDSGER, roles: ['auditor'] });

  const [person] = await app.as(ACME).users.people({ search: EDSGER });
  assert.equal([person?.app_labels, person?.groups, person?.last_used_day], [[], [], null]);
  assert.equal([person?.clients, person?.client_roles], [[1], []]);
  assert.equal(await app.as(ACME).users.people({ group: id }), []);
  assert.equal((await app.as(ACME).users.count({ group: id })).count, 0);
});

type Filter = { search?: string; is_active?: boolean; app?: string };

const found = async (app: TestApp, filter: Filter, as = ROOT) =>
  (await app.as(as).users.list(filter)).map(({ email }) => email);

const OTTO = 'otto_100%@acme.test';

const OSCAR = 'oscar.100x@acme.test';

const search = appSuite('search of users');

search.before(async ({ app }) => {
  const root = app.as(ROOT);
  await root.users.create({ email: OTTO, first_name: 'Jörg-Otto', last_name: "O'Brien \\ Søn", client: 1 });
  await root.users.create({ email: OSCAR, first_name: 'ÉLODIE', last_name: 'Groß', client: 1 });
});

for (const [what, expected, ...searches] of [
  ['parts of the address and names, ignoring case', [ADA], 'ovelac', 'ADA@'],
  ['letters of any alphabet, ignoring case', [OTTO], 'jÖRG'],
  ['every word, in any field', [GRACE], '  acme.test\t hop ', 'hopper grace'],
  ['no word across two fields', [], 'testada', 'adalovelace', 'ada hopper'],
  ['%, _ and \\ literally', [OTTO], '100%', 'o_1', '\\', "o'b", '%', '_'],
] as const)
  search(`matches ${what}`, async ({ app }) => {
    for (const text of searches) assert.equal(await found(app, { search: text }), expected, text);
  });

search('matches every user if it is blank', async ({ app }) => {
  assert.equal(await found(app, { search: ' \t ' }), await found(app, {}));
});

search('combines with is_active and app, and returns only visible users', async ({ app }) => {
  assert.equal(await found(app, { search: 'acme', is_active: false }), [IDLE]);
  assert.equal(await found(app, { search: 'acme.test', app: 'churn' }), [ADA]);
  assert.not.ok((await found(app, { is_active: true })).includes(IDLE));
  assert.equal(await found(app, { search: 'dijkstra' }, ACME), []);
});

search('works for the users of a client', async ({ app }) => {
  const inAcme = async (text: string) => [...(await app.as(ACME).clients.users({ id: 1, search: text }))];

  assert.equal((await inAcme('hop'))[0]?.email, GRACE);
  assert.equal(await inAcme('dijkstra'), []);
});

users.run();
updating.run();
people.run();
search.run();
