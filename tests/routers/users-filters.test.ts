import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { USER_SORTS } from '../../src/services/users/user-filter.ts';
import { userId } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, setRows } from '../support/rows.ts';
import { enroll } from '../support/second-factors.ts';
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
import { FLEET, SALES } from '../support/usage.ts';

const filters = appSuite('filters of users');

type Input = NonNullable<Parameters<ReturnType<TestApp['as']>['users']['list']>[0]>;

const emails = async (app: TestApp, input: Input, as = ROOT) =>
  (await app.as(as).users.list(input)).map(({ email }) => email);

const sorted = async (app: TestApp, input: Input, as = ROOT) => (await emails(app, input, as)).sort();

const daysAgo = (app: TestApp, days: number) => new Date(app.clock.now().getTime() - days * DAY_MS);

const setUser = (app: TestApp, email: string, values: Parameters<typeof setRows<'users'>>[3]) =>
  setRows(app, 'users', { email }, values);

filters.before(async ({ app }) => {
  await setRows(app, 'users', {}, { last_login: null });
  await setUser(app, ADA, { last_login: daysAgo(app, 100), date_joined: daysAgo(app, 400) });
  await setUser(app, GRACE, { last_login: daysAgo(app, 10) });
  await setUser(app, EDSGER, { last_login: daysAgo(app, 1) });
});

filters('select users by role', async ({ app }) => {
  assert.equal(await emails(app, { role: 'superuser' }), [ROOT]);
  assert.equal(await emails(app, { role: 'staff' }), [STAFF]);
  assert.equal(await sorted(app, { role: 'client-admin' }), [ACME, GLOBEX]);
  assert.equal(await emails(app, { role: 'client-admin', client: 2 }), [GLOBEX]);
  assert.equal(await sorted(app, { role: 'member' }), [ADA, EDSGER, GRACE, IDLE]);
});

filters('do not reveal roles in clients that the viewer does not administer', async ({ app }) => {
  const root = app.as(ROOT);
  await root.users.update({ email: EDSGER, apps: [SALES, FLEET] });
  await root.roles.setClientAdmin({ id: 2, email: EDSGER, is_admin: true });

  assert.equal(await emails(app, { role: 'client-admin' }, ACME), [ACME]);
  assert.ok((await emails(app, { role: 'member' }, ACME)).includes(EDSGER));
  await rejectsWith(app.as(ACME).users.list({ client: 2 }), 'not-found');
  await rejectsWith(app.as(ACME).users.count({ client: 2 }), 'not-found');

  await root.roles.setClientAdmin({ id: 2, email: EDSGER, is_admin: false });
  await root.memberships.remove({ id: 1, email: EDSGER });
});

filters('select users by their last login', async ({ app }) => {
  const [ten, fifty] = [daysAgo(app, 10), daysAgo(app, 50)];
  assert.equal(await emails(app, { last_login_before: ten }), [ADA], 'the end is exclusive');
  assert.equal(await sorted(app, { last_login_after: ten }), [EDSGER, GRACE]);
  const between = { last_login_after: fifty, last_login_before: daysAgo(app, 5) };
  assert.equal(await emails(app, between), [GRACE]);
  assert.equal(await sorted(app, { never_logged_in: true, client: 1 }), [ACME, IDLE]);
  assert.equal(await sorted(app, { never_logged_in: false }), [ADA, EDSGER, GRACE]);
});

filters('select users by their last login or use of an app that the viewer may see', async ({ app }) => {
  const seenBefore = (days: number) => ({ is_active: true, last_seen_before: daysAgo(app, days) });
  const setDays = async (email: string, days: number, app_id: string) => {
    const day = daysAgo(app, days).toISOString().slice(0, 10);
    await addRows(app, 'usage_days', { app_id, user_id: await userId(app, email), day, actions: 1 });
  };
  await setRows(app, 'users', {}, { date_joined: daysAgo(app, 400) });
  await app.db().deleteFrom('usage_days').execute();
  await setDays(ADA, 20, SALES);
  await setDays(GRACE, 5, FLEET);

  assert.equal(await sorted(app, seenBefore(19), ACME), [ADA, ACME], 'Grace logged in ten days ago');
  assert.equal(await sorted(app, seenBefore(20), ACME), [ACME], 'the day itself counts as seen');
  assert.equal(await sorted(app, seenBefore(9), ACME), [ADA, ACME, GRACE], 'the fleet is not theirs to see');
  assert.equal(await sorted(app, { ...seenBefore(9), client: 1 }), [ADA, ACME]);
  assert.equal(await sorted(app, { ...seenBefore(9), role: 'member' }), [ADA]);
  await setUser(app, ADA, { date_joined: daysAgo(app, 2) });
  assert.equal(await sorted(app, { ...seenBefore(9), role: 'member' }), [], 'joining counts as seen');
  await setUser(app, ADA, { date_joined: daysAgo(app, 401) });
});

filters('select people of an app by their last use of it', async ({ app }) => {
  const unused = (days: number) => ({ app: 'sales', last_used_before: daysAgo(app, days) });

  assert.equal(await sorted(app, unused(19)), [ADA, GRACE], 'Grace used another app five days ago');
  assert.equal(await sorted(app, unused(20), ACME), [GRACE], 'the day itself counts as use');
  assert.equal(await sorted(app, { ...unused(20), client: 1, is_active: true }), [GRACE]);
  await rejectsWith(app.as(ROOT).users.count({ last_used_before: daysAgo(app, 9) }), 'invalid-input');
});

filters('combine app and client', async ({ app }) => {
  assert.equal(await sorted(app, { app: 'sales', client: 1 }), [ADA, GRACE]);
  assert.equal(await emails(app, { app: 'sales', client: 2 }), []);
  assert.equal(await emails(app, { app: 'churn', client: 1 }, ACME), [ADA]);
});

filters('find expired passwords by the policies that the viewer can see', async ({ app }) => {
  await setUser(app, ADA, { last_password_set: daysAgo(app, 40) });
  await setUser(app, IDLE, { last_password_set: daysAgo(app, 40) });
  await app.as(ROOT).clients.update({ id: 1, password_expiration_days: 30 });
  await addRows(app, 'memberships', { client_id: 2, user_id: await userId(app, ADA) });
  await setUser(app, ADA, { was_shared: true });

  assert.equal(await emails(app, { password_expired: true }), [ADA], 'inactive users cannot log in anyway');
  assert.equal(await emails(app, { password_expired: true }, GLOBEX), []);
  assert.not.ok((await emails(app, { password_expired: false })).includes(ADA));
});

filters('find second factors of people whose account the viewer may change', async ({ app }) => {
  const own = await sorted(app, { second_factor: false, client: 1 }, ACME);
  // Ada belongs to two clients by now.
  assert.equal(own, [ACME, GRACE, IDLE]);
  await enroll(app, GRACE);
  await enroll(app, ADA);

  assert.equal(await sorted(app, { second_factor: true }, ACME), [GRACE]);
  assert.equal(await sorted(app, { second_factor: false }, ACME), [ACME, IDLE]);
  assert.equal(await sorted(app, { second_factor: true }), [ADA, GRACE]);
  assert.ok((await sorted(app, { second_factor: false })).includes(STAFF));
  assert.equal(await sorted(app, { second_factor: true }, STAFF), []);
  assert.equal(await sorted(app, { second_factor: false }, STAFF), [STAFF], 'their own is no secret');
  await app.db().deleteFrom('mfa_factors').execute();
});

filters('count what they list', async ({ app }) => {
  const inputs: Input[] = [
    {},
    { role: 'member', search: 'acme' },
    { app: 'sales', is_active: true },
    { app: 'sales', last_used_before: daysAgo(app, 5) },
    { client: 1, never_logged_in: true },
    { last_login_before: daysAgo(app, 5) },
    { last_seen_before: daysAgo(app, 5) },
    { second_factor: false },
  ];
  for (const as of [ROOT, STAFF, ACME])
    for (const input of inputs) {
      const { count } = await app.as(as).users.count(input);
      assert.is(count, (await emails(app, input, as)).length, JSON.stringify(input));
    }
  await rejectsWith(app.as(ADA).users.count({}), 'forbidden');
});

filters('sort, and cursors traverse every order without gaps', async ({ app }) => {
  const traverse = async (input: Input, as: string) => {
    const found: string[] = [];
    for (let cursor: string | undefined; ; cursor = found.at(-1)) {
      const page = await emails(app, { ...input, limit: 2, ...(cursor && { cursor }) }, as);
      if (page.length === 0) return found;
      found.push(...page);
    }
  };

  for (const sort of USER_SORTS) {
    const all = await emails(app, { sort, limit: 100 });
    assert.is(all.length, 8);
    assert.equal(await traverse({ sort }, ROOT), all, sort);
    const ofAcme = await emails(app, { sort, limit: 9, client: 1 });
    assert.equal(await traverse({ sort, client: 1 }, ACME), ofAcme, sort);
    const opposite = await emails(app, { sort: opposites[sort] ?? 'email', limit: 100 });
    assert.equal(opposite.reverse(), all, sort);
  }
  assert.equal((await emails(app, { sort: 'email', limit: 9 })).slice(0, 2), [ADA, ACME]);
  assert.equal(await emails(app, { sort: 'date_joined', limit: 1 }), [ADA]);
  assert.equal(await emails(app, { sort: '-last_login', limit: 3 }), [EDSGER, GRACE, ADA]);
  const [first] = await app.as(ROOT).users.list({ sort: 'name', limit: 1, search: 'o' });
  assert.is(first?.email, EDSGER, 'Dijkstra comes before Hopper and Lovelace');
});

const opposites: Partial<Record<(typeof USER_SORTS)[number], (typeof USER_SORTS)[number]>> =
  Object.fromEntries(USER_SORTS.map((sort) => [sort, sort.startsWith('-') ? sort.slice(1) : `-${sort}`]));

filters('refuse to sort a whole list', async ({ app }) => {
  const { fields } = await rejectsWith(app.as(ROOT).users.list({ sort: 'name' }), 'invalid-input');
  assert.equal(Object.keys(fields ?? {}), ['sort']);
});

filters.run();
