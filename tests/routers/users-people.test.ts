import * as assert from 'uvu/assert';
import { UserOutput } from '../../routers/schemas/users.ts';
import { REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const people = appSuite('users.people');

/** Replaces the usage of a user. */
const setUsage = async (app: TestApp, email: string, day: string, app_id = SALES) => {
  await app.db().deleteFrom('usage_days').where('email', '=', email).execute();
  await app.db().insertInto('usage_days').values({ app_id, email, day, actions: 1 }).execute();
};

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

people.run();
