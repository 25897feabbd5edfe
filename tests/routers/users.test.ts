import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { UserOutput } from '../../routers/schemas/users.ts';
import { REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { userId } from '../support/access-views.ts';
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

const users = appSuite('users');

users('users.list, users.get returns to a client admin the members of their clients', async ({ app }) => {
  const emails = async (who: string) => (await app.as(who).users.list({})).map((user) => user.email);

  assert.equal(await emails(ACME), [ACME, ADA, GRACE, IDLE]);
  assert.equal(await emails(GLOBEX), [GLOBEX, EDSGER]);
  assert.is((await emails(STAFF)).length, 8);
  assert.equal(await emails(ROOT), await emails(STAFF));
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
  await app.as(ROOT).users.update({ email: GRACE, apps: ['zylTKNVx', 'Hb7cW2ke'] });

  assert.equal((await app.as(ACME).users.get({ email: GRACE })).apps, ['zylTKNVx']);
  assert.equal((await app.as(GLOBEX).users.get({ email: GRACE })).apps, ['Hb7cW2ke']);
  assert.equal((await app.as(GRACE).users.get({ email: GRACE })).apps, ['zylTKNVx', 'Hb7cW2ke']);
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
  await app.as(ROOT).users.update({ email: GRACE, apps: ['zylTKNVx', 'Hb7cW2ke'] });

  await app.as(ACME).users.update({ email: GRACE, apps: ['Qm3vR8pa'] });
  assert.equal((await app.as(ROOT).users.get({ email: GRACE })).apps, ['Qm3vR8pa', 'Hb7cW2ke']);
  await app.as(GLOBEX).users.update({ email: GRACE, apps: [] });
  assert.equal((await app.as(ROOT).users.get({ email: GRACE })).apps, ['Qm3vR8pa']);
});

updating('refuses apps of other clients alike, whether the user has them or not', async ({ app }) => {
  for (const apps of [[], ['Hb7cW2ke']]) {
    await app.as(ROOT).users.update({ email: GRACE, apps });
    const attempt = app.as(ACME).users.update({ email: GRACE, apps: ['zylTKNVx', 'Hb7cW2ke'] });
    const { fields } = await rejectsWith(attempt, 'invalid-input');
    assert.equal(fields, { apps: ['There is no app Hb7cW2ke to grant.'] });
  }
});

updating('keeps both changes if admins of two clients set apps concurrently', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: ['Hb7cW2ke', 'zylTKNVx'] });
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([
      app.as(ACME).users.update({ email: GRACE, apps: round % 2 ? ['zylTKNVx'] : ['Qm3vR8pa'] }),
      app.as(GLOBEX).users.update({ email: GRACE, apps: round % 2 ? ['Hb7cW2ke'] : [] }),
    ]);
    const expected = round % 2 ? ['zylTKNVx', 'Hb7cW2ke'] : ['Qm3vR8pa'];
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

const logOf = async (app: TestApp) => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from audit_entries where target_label = ${ADA}`.execute(app.db());
  return rows[0]?.count ?? 0;
};

updating('writes neither the user nor the audit trail if nothing changes', async ({ app }) => {
  const row = () => sql`select xmin::text, ctid::text from users where email = ${ADA}`.execute(app.db());
  const { first_name, apps } = (await app.send(`GET ${PATH}`, { as: ROOT })).json();
  const before = [(await row()).rows, await logOf(app)];
  // A row lock only changes `xmax`.
  await app.send(`PATCH ${PATH}`, { as: ROOT, payload: { first_name, apps } });

  assert.equal([(await row()).rows, await logOf(app)], before);
});

/** Replaces the usage of a user. */
const setUsage = async (app: TestApp, email: string, day: string, app_id = SALES) => {
  const id = await userId(app, email);
  await app.db().deleteFrom('usage_days').where('user_id', '=', id).execute();
  await app.db().insertInto('usage_days').values({ app_id, user_id: id, day, actions: 1 }).execute();
};

const people = appSuite('users.people');

people('returns pages of the users of users.list, in the same order', async ({ app }) => {
  const root = app.as(ROOT);
  const listed = await root.users.list({ sort: '-email', limit: 5 });

  const first = await root.users.people({ sort: '-email', limit: 3 });
  const rest = await root.users.people({ sort: '-email', limit: 2, cursor: first.at(-1)?.email });

  assert.equal(
    [...first, ...rest].map(({ email }) => email),
    listed.map(({ email }) => email),
  );
});

people('returns only the users whom a client admin sees', async ({ app }) => {
  const seen = await app.as(ACME).users.people({});

  assert.equal(
    seen.map(({ email }) => email),
    (await app.as(ACME).users.list({})).map(({ email }) => email),
  );
});

people('names the apps, the groups and the last use of each person', async ({ app }) => {
  const acme = app.as(ACME);
  const { id } = await acme.groups.create({ id: 1, name: 'Analysts', members: [ADA], apps: [CHURN] });
  await setUsage(app, ADA, '2026-09-02');
  const find = async (email: string, as = ACME) =>
    (await app.as(as).users.people({ search: email })).find((person) => person.email === email);

  const { app_labels, groups, last_used_day, opens_all_apps } = (await find(ADA)) ?? {};
  assert.equal(
    { app_labels, groups, last_used_day, opens_all_apps },
    {
      app_labels: ['Sales', 'Churn'],
      groups: ['Analysts'],
      last_used_day: '2026-09-02',
      opens_all_apps: false,
    },
  );
  assert.equal((await find(ROOT, ROOT))?.opens_all_apps, true, 'a superuser opens all apps');
  assert.equal(
    (await acme.users.people({ group: id })).map(({ email }) => email),
    [ADA],
  );
});

people('shows a client admin nothing of another client', async ({ app }) => {
  const { id } = await app
    .as(GLOBEX)
    .groups.create({ id: 2, name: 'Secret', members: [EDSGER], apps: [FLEET] });
  await setUsage(app, EDSGER, '2026-09-03', FLEET);
  await app
    .db()
    .insertInto('memberships')
    .values((from) => ({
      client_id: 1,
      user_id: from.selectFrom('users').select('id').where('email', '=', EDSGER),
    }))
    .execute();

  const [person] = await app.as(ACME).users.people({ search: EDSGER });
  assert.equal([person?.app_labels, person?.groups, person?.last_used_day], [[], [], null]);
  assert.equal(await app.as(ACME).users.people({ group: id }), []);
  assert.equal((await app.as(ACME).users.count({ group: id })).count, 0);
});

people('is refused to members', async ({ app }) => {
  await rejectsWith(app.as(ADA).users.people({}), 'forbidden');
});

people('has no REST path, and its fields are not those of the REST interface', async ({ app }) => {
  const [person] = await app.as(ROOT).users.people({ limit: 1 });

  assert.not(REST_ENDPOINTS.some(({ procedure }) => procedure === 'users.people'));
  assert.not.equal(Object.keys(person ?? {}), Object.keys(UserOutput.shape));
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

search('matches parts of the address and names, ignoring case', async ({ app }) => {
  assert.equal(await found(app, { search: 'ovelac' }), [ADA]);
  assert.equal(await found(app, { search: 'HOPPER' }), [GRACE]);
  assert.equal(await found(app, { search: 'gRaCe@' }), [GRACE]);
  assert.equal(await found(app, { search: 'jÖRG' }), [OTTO]);
  assert.equal(await found(app, { search: 'élodie' }), [OSCAR]);
  assert.equal(await found(app, { search: 'unknown' }), []);
});

search('requires every word, in any field', async ({ app }) => {
  assert.equal(await found(app, { search: 'lovelace ada' }), [ADA]);
  assert.equal(await found(app, { search: '  acme.test\t hop ' }), [GRACE]);
  assert.equal(await found(app, { search: 'ada hopper' }), []);
});

search('does not match a word across two fields', async ({ app }) => {
  assert.equal(await found(app, { search: 'testada' }), []);
  assert.equal(await found(app, { search: 'adalovelace' }), []);
});

search('treats %, _ and \\ literally', async ({ app }) => {
  assert.equal(await found(app, { search: '100%' }), [OTTO]);
  assert.equal(await found(app, { search: 'o_1' }), [OTTO]);
  assert.equal(await found(app, { search: '\\' }), [OTTO]);
  assert.equal(await found(app, { search: "o'b" }), [OTTO]);
  assert.equal(await found(app, { search: '%' }), [OTTO]);
  assert.equal(await found(app, { search: '_' }), [OTTO]);
});

search('matches every user if it is blank', async ({ app }) => {
  const everybody = await found(app, {});
  assert.equal(await found(app, { search: '' }), everybody);
  assert.equal(await found(app, { search: ' \t ' }), everybody);
});

search('combines with is_active and app, and returns only visible users', async ({ app }) => {
  assert.equal(await found(app, { is_active: false }), [IDLE]);
  assert.equal(await found(app, { search: 'acme', is_active: false }), [IDLE]);
  assert.equal(await found(app, { search: 'acme.test', app: 'churn' }), [ADA]);
  assert.not.ok((await found(app, { is_active: true })).includes(IDLE));
  assert.equal(await found(app, { search: 'dijkstra' }, ACME), []);
  assert.equal(await found(app, { search: 'dijkstra' }), [EDSGER]);
});

search('works for the users of a client', async ({ app }) => {
  const inAcme = async (filter: Filter) =>
    (await app.as(ACME).clients.users({ id: 1, ...filter })).map(({ email }) => email);

  assert.equal(await inAcme({ search: 'hop' }), [GRACE]);
  assert.equal(await inAcme({ is_active: false }), [IDLE]);
  assert.equal(await inAcme({ search: 'dijkstra' }), []);
});

users.run();
updating.run();
people.run();
search.run();
