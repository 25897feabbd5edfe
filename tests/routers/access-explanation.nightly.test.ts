import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { opens } from '../support/members.ts';
import { addRows } from '../support/rows.ts';
import { ACME, appSuite, ROOT, type TestApp } from '../support/test-app.ts';

const explanation = appSuite('access.explain, for random people and apps');

const PEOPLE = 250;
const APPS = 20;

/** Of each person. A tenth of all are inactive, suspended or have a role. */
const rare = fc.integer({ min: 0, max: 9 }).map((number) => number === 0);
const person = fc.record({
  is_active: rare.map((isRare) => !isRare),
  is_suspended: rare,
  is_admin: rare,
  is_staff: rare,
  is_superuser: rare,
  /** Which of the groups. */
  groups: fc.uniqueArray(fc.integer({ min: 0, max: 4 }), { maxLength: 2 }),
  grants: fc.uniqueArray(
    fc.record({ app: fc.integer({ min: 0, max: APPS - 1 }), end: fc.constantFrom('none', 'past', 'future') }),
    { maxLength: 8, selector: ({ app }) => app },
  ),
});
const world = fc.record({
  people: fc.array(person, { minLength: PEOPLE, maxLength: PEOPLE }),
  inMaintenance: fc.array(rare, { minLength: APPS, maxLength: APPS }),
  groupApps: fc.array(fc.uniqueArray(fc.integer({ min: 0, max: APPS - 1 }), { maxLength: 4 }), {
    minLength: 5,
    maxLength: 5,
  }),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

const emailOf = (index: number): string => `random-${index}@acme.test`;
const appIdOf = (index: number): string => `Random${String(index).padStart(2, '0')}`;
const ENDS = { none: null, past: new Date('2001-01-01'), future: new Date('2999-01-01') };

/** Writes the state of all people and apps. */
const write = async (app: TestApp, { people, inMaintenance, groupApps }: World) => {
  const at = app.clock.now();
  const rows = people.map((row, index) => ({ ...row, id: 10_000 + index, email: emailOf(index) }));
  const common = { profile_color: '000000', date_joined: at, last_password_set: at };
  const users = rows.map(({ id, email, is_active, is_staff, is_superuser }) => ({
    ...{ id, email, handle: email, is_active, is_staff, is_superuser },
    ...common,
  }));
  const memberships = rows.map(({ id, is_admin, is_suspended }) => ({
    client_id: 1,
    user_id: id,
    is_active_member: !is_suspended,
    is_admin,
  }));
  const apps = inMaintenance.map((in_maintenance, index) => {
    const id = appIdOf(index);
    return { id, client_id: 1, slug: id.toLowerCase(), label: id, in_maintenance, created_at: at };
  });
  const grants = rows.flatMap(({ id, grants: given }) =>
    given.map(({ app: index, end }) => ({ user_id: id, app_id: appIdOf(index), expires_at: ENDS[end] })),
  );
  const groups = groupApps.map((_, id) => ({ id, client_id: 1, name: `Group ${id}`, created_at: at }));
  const members = rows.flatMap(({ id, groups: joined }) =>
    joined.map((group_id) => ({ group_id, user_id: id, added_at: at })),
  );
  const ofGroups = groupApps.flatMap((indexes, group_id) =>
    indexes.map((index) => ({ group_id, app_id: appIdOf(index), added_at: at })),
  );
  await addRows(app, 'users', users);
  await addRows(app, 'memberships', memberships);
  await addRows(app, 'apps', apps);
  await addRows(app, 'app_grants', grants);
  await addRows(app, 'groups', groups);
  await addRows(app, 'group_members', members);
  await addRows(app, 'group_apps', ofGroups);
  return rows;
};

type Row = Awaited<ReturnType<typeof write>>[number];

const isGranted = (row: Row, { groupApps }: World, app: number): boolean => {
  if (row.is_superuser || row.is_staff || (row.is_admin && !row.is_suspended)) return true;
  if (row.is_suspended) return false;
  const byGrant = row.grants.some((grant) => grant.app === app && grant.end !== 'past');
  return byGrant || row.groups.some((group) => groupApps[group]?.includes(app));
};

/** The people whom `access.effective` lists for an app, on all its pages. */
const effectiveOf = async (app: TestApp, app_id: string): Promise<Set<string>> => {
  const emails: string[] = [];
  for (;;) {
    const page = await app.as(ROOT).access.effective({ app_id, limit: 200, cursor: emails.at(-1) });
    emails.push(...page.map(({ email }) => email));
    if (page.length < 200) return new Set(emails);
  }
};

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** What forward authentication answers. */
const isAdmitted = async (app: TestApp, email: string, slug: string): Promise<boolean> =>
  (await app.send(`GET !/gate/${slug}/`, { as: email })).statusCode === 204;

explanation('agrees with every way in, for 5,000 pairs of a person and an app', async ({ app }) => {
  const [state] = fc.sample(world, 1);
  if (!state) throw new Error('No state was generated.');
  const rows = await write(app, state);
  const { users } = await app.as(ACME).access.matrix({ id: 1, limit: 2_000, search: 'random-' });
  const listing = state.inMaintenance.map((_, index) => effectiveOf(app, appIdOf(index)));
  const effective = await Promise.all(listing);
  let pairs = 0;
  for (const row of rows) {
    const matrix = users.find(({ email }) => email === row.email);
    const listed = row.is_active ? await opens(app, row.email) : [];
    for (let index = 0; index < APPS; index += 1) {
      const app_id = appIdOf(index);
      const granted = isGranted(row, state, index);
      const expected = row.is_active && granted && !state.inMaintenance[index];
      const label = JSON.stringify({ ...row, app_id, inMaintenance: state.inMaintenance[index] });
      const { allowed, paths, blockers } = await app.as(ROOT).access.explain({ email: row.email, app_id });
      assert.is(allowed, expected, label);
      assert.is(blockers.length === 0, expected, label);
      assert.is(listed.includes(app_id), row.is_active && granted, label);
      const hasRole = row.is_superuser || row.is_staff || (matrix?.is_admin ?? false);
      if (!hasRole && !row.is_suspended) assert.is(matrix?.apps.includes(app_id), granted, label);
      if (granted) assert.ok(paths.length > 0, label);
      assert.is(effective[index]?.has(row.email), row.is_active && granted, label);
      if (row.is_active && index % 5 === 0) {
        assert.is(await isAdmitted(app, row.email, app_id.toLowerCase()), expected, label);
        const { openTicket, launch } = app.as(row.email).apps;
        assert.is(await succeeds(openTicket({ app_id })), expected, label);
        assert.is(await succeeds(launch({ app_slug: app_id.toLowerCase() })), expected, label);
      }
      pairs += 1;
    }
  }
  assert.is(pairs, PEOPLE * APPS);
});

explanation.run();
