import fc from 'fast-check';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
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
const ENDS = { none: null, past: '2001-01-01T00:00:00Z', future: '2999-01-01T00:00:00Z' };

/** Writes the state of all people and apps. */
const write = async (app: TestApp, { people, inMaintenance, groupApps }: World) => {
  const rows = people.map((row, index) => ({ ...row, index, email: emailOf(index) }));
  const grants = rows.flatMap(({ email, grants: given }) =>
    given.map((grant) => ({ email, app_id: appIdOf(grant.app), expires_at: ENDS[grant.end] })),
  );
  const members = rows.flatMap(({ email, groups }) =>
    groups.map((group) => ({ email, name: `Group ${group}` })),
  );
  const apps = inMaintenance.map((in_maintenance, index) => ({ id: appIdOf(index), in_maintenance }));
  const ofGroups = groupApps.flatMap((indexes, group) =>
    indexes.map((index) => ({ name: `Group ${group}`, app_id: appIdOf(index) })),
  );
  const table = (values: object[]) => sql`${JSON.stringify(values)}::json`;
  const db = app.db();
  await sql`
    insert into users (email, handle, is_active, is_staff, is_superuser, profile_color, date_joined, last_password_set)
    select email, '@' || email, is_active, is_staff, is_superuser, '000000', ${app.clock.now()}::timestamptz, ${app.clock.now()}::timestamptz
    from json_to_recordset(${table(rows)}) as r (email varchar, is_active bool, is_staff bool, is_superuser bool)`.execute(
    db,
  );
  await sql`
    insert into memberships (client_id, user_id, is_active_member, is_admin)
    select 1, users.id, not r.is_suspended, r.is_admin and not r.is_suspended
    from json_to_recordset(${table(rows)}) as r (email varchar, is_suspended bool, is_admin bool)
      join users using (email)`.execute(db);
  await sql`
    insert into apps (id, client_id, slug, label, in_maintenance, created_at)
    select id, 1, lower(id), id, in_maintenance, ${app.clock.now()}::timestamptz
    from json_to_recordset(${table(apps)}) as r (id varchar, in_maintenance bool)`.execute(db);
  await sql`
    insert into app_grants (user_id, app_id, expires_at)
    select users.id, app_id, expires_at
    from json_to_recordset(${table(grants)}) as r (email varchar, app_id varchar, expires_at timestamptz)
      join users using (email)`.execute(db);
  await sql`insert into groups (client_id, name, created_at)
    select 1, 'Group ' || n, ${app.clock.now()}::timestamptz from generate_series(0, 4) n`.execute(db);
  await sql`
    insert into group_members (group_id, user_id, added_at)
    select groups.id, users.id, ${app.clock.now()}::timestamptz
    from json_to_recordset(${table(members)}) as r (email varchar, name varchar)
      join users using (email) join groups on groups.name = r.name`.execute(db);
  await sql`
    insert into group_apps (group_id, app_id, added_at)
    select groups.id, app_id, ${app.clock.now()}::timestamptz from json_to_recordset(${table(ofGroups)}) as r (name varchar, app_id varchar)
      join groups on groups.name = r.name`.execute(db);
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
  const effective = await Promise.all(
    state.inMaintenance.map((_, index) => effectiveOf(app, appIdOf(index))),
  );
  let pairs = 0;
  for (const row of rows) {
    const matrix = users.find(({ email }) => email === row.email);
    const listed = row.is_active ? (await app.as(row.email).apps.list({})).map(({ id }) => id) : [];
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
