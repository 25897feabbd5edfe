import fc from 'fast-check';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { claimsIn } from '../support/access-views.ts';
import { addRows } from '../support/rows.ts';
import { appSuite, ROOT, type TestApp } from '../support/test-app.ts';

const data = appSuite('data permissions, for random layers');

const ROUNDS = 50;
const PEOPLE = 200;
const GROUPS = 4;
const APP = 'RandomAp';

/** By the kind of an attribute, its schema and what the reference considers valid. */
const KINDS = {
  list: {
    schema: { type: 'array', items: { enum: ['a', 'b', 'c'] } },
    isValid: (value: unknown) =>
      Array.isArray(value) && value.every((item) => ['a', 'b', 'c'].includes(item)),
  },
  single: {
    schema: { type: 'array', items: { enum: ['a', 'b', 'c'] }, 'x-steward': { multiple: false } },
    isValid: (value: unknown) =>
      Array.isArray(value) && value.every((item) => ['a', 'b', 'c'].includes(item)),
  },
  text: {
    schema: { type: 'string', enum: ['a', 'b'] },
    isValid: (value: unknown) => value === 'a' || value === 'b',
  },
  number: {
    schema: { type: 'integer', minimum: 1 },
    isValid: (value: unknown) => typeof value === 'number' && Number.isInteger(value) && value >= 1,
  },
} as const;
type Kind = keyof typeof KINDS;

const DEFAULTS: Record<Kind, unknown> = { list: ['a'], single: ['b'], text: 'b', number: 7 };
const KIND_OF: Record<string, Kind> = { one: 'list', two: 'text', three: 'number', four: 'single' };
const KEYS = Object.keys(KIND_OF);

const attribute = fc.record({
  isRequired: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
  hasDefault: fc.boolean(),
});
const declared = fc
  .dictionary(fc.constantFrom(...KEYS), attribute, { minKeys: 2, maxKeys: 4, noNullPrototype: true })
  .map((attributes) =>
    Object.fromEntries(
      Object.entries(attributes).map(([name, one]) => [name, { ...one, kind: KIND_OF[name] ?? 'list' }]),
    ),
  );
type Declared = Record<string, { kind: Kind; isRequired: boolean; hasDefault: boolean }>;

const VALID: Record<Kind, unknown[]> = {
  list: [['a'], ['b', 'c'], ['a', 'b'], []],
  single: [['a'], ['c', 'b']],
  text: ['a', 'b'],
  number: [1, 9],
};
const wrong = fc.constantFrom<unknown>(['x'], 'x', 0, 1.5, null, true, {}, [['a']], '1');
const ofKind = (kind: Kind) =>
  fc.oneof({ weight: 150, arbitrary: fc.constantFrom(...VALID[kind]) }, { weight: 1, arbitrary: wrong });
/** `oen` is mistyped. */
const values = fc
  .record(
    {
      ...Object.fromEntries(Object.entries(KIND_OF).map(([name, kind]) => [name, ofKind(kind)])),
      oen: fc.integer({ min: 0, max: 99 }).map((number) => (number === 0 ? 'a' : undefined)),
    },
    { requiredKeys: [] },
  )
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, one]) => one !== undefined)));
const layer = fc.option(values, { nil: null });
const person = fc.record({
  membership: values,
  claims: layer,
  grant: layer,
  groups: fc.subarray(Array.from({ length: GROUPS }, (_, index) => index)),
});
const round = fc.record({
  app: declared,
  client: declared,
  groups: fc.array(fc.record({ rank: fc.integer({ min: 0, max: 2 }), values }), {
    minLength: GROUPS,
    maxLength: GROUPS,
  }),
  people: fc.array(person, { minLength: PEOPLE, maxLength: PEOPLE }),
});
type Round = typeof round extends fc.Arbitrary<infer T> ? T : never;
type Person = Round['people'][number];

const schemaOf = (attributes: Declared) => ({
  properties: Object.fromEntries(
    Object.entries(attributes).map(([name, { kind, hasDefault }]) => [
      name,
      { ...KINDS[kind].schema, ...(hasDefault && { default: DEFAULTS[kind] }) },
    ]),
  ),
  required: Object.keys(attributes).filter((name) => attributes[name]?.isRequired),
});

/** The rule, as plain as possible. Null: the app must stay closed. */
const reference = ({ app, client, groups }: Round, one: Person): Record<string, unknown> | null => {
  const joined = one.groups
    .map((index) => ({ index, ...(groups[index] ?? { rank: 0, values: {} }) }))
    .sort((a, b) => a.rank - b.rank || a.index - b.index);
  const effective: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(client), ...Object.keys(app)])) {
    const [ofApp, ofClient] = [app[name], client[name]];
    if (ofApp?.hasDefault) effective[name] = DEFAULTS[ofApp.kind];
    if (ofClient?.hasDefault) effective[name] = DEFAULTS[ofClient.kind];
    const given = joined.filter((group) => name in group.values).map((group) => group.values[name]);
    const areLists = given.every((item) => Array.isArray(item));
    const kind = (ofApp ?? ofClient)?.kind;
    if (given.length > 0)
      effective[name] = areLists && kind !== 'single' ? unite(given as unknown[][]) : given[0];
    for (const source of [one.claims, one.membership, one.grant])
      if (source && name in source) effective[name] = source[name];
    for (const declaration of [ofApp, ofClient]) {
      if (!declaration) continue;
      if (!(name in effective)) {
        if (declaration.isRequired) return null;
      } else if (!KINDS[declaration.kind].isValid(effective[name])) return null;
    }
  }
  const all = [one.membership, one.claims ?? {}, one.grant ?? {}, ...joined.map((group) => group.values)];
  const isKnown = (name: string) => name in app || name in client;
  return all.flatMap((source) => Object.keys(source)).every(isKnown) ? effective : null;
};

const unite = (lists: unknown[][]): unknown[] => {
  const seen = new Map(lists.flat().map((item) => [JSON.stringify(item), item]));
  return [...seen.values()];
};

const idOf = (index: number): number => 20_000 + index;
const emailOf = (index: number): string => `layer-${index}@acme.test`;

const addPeople = async (app: TestApp) => {
  const at = app.clock.now();
  const indexes = Array.from({ length: PEOPLE }, (_, index) => index);
  const common = { profile_color: '000000', date_joined: at, last_password_set: at };
  const users = indexes.map((index) => ({
    ...{ id: idOf(index), email: emailOf(index), handle: emailOf(index) },
    ...common,
  }));
  await addRows(app, 'users', users);
  await addRows(
    app,
    'memberships',
    users.map(({ id }) => ({ client_id: 1, user_id: id })),
  );
  const launch_url = 'https://app.acme.test/';
  const common_ = { id: APP, client_id: 1, slug: 'randomap', label: 'Random', created_at: at };
  await addRows(app, 'apps', [{ ...common_, launch_url }]);
  await addRows(
    app,
    'app_grants',
    users.map(({ id }) => ({ user_id: id, app_id: APP })),
  );
  const groups = Array.from({ length: GROUPS }, (_, id) => ({
    id,
    client_id: 1,
    name: `G${id}`,
    created_at: at,
  }));
  await addRows(app, 'groups', groups);
};

const json = (content: unknown) => sql`${JSON.stringify(content)}::json`;

const write = async (app: TestApp, state: Round) => {
  const appSchema = JSON.stringify(schemaOf(state.app));
  await sql`update apps set attributes = ${appSchema}::json where id = ${APP}`.execute(app.db());
  await sql`update groups g set rank = r.rank, attributes = r.values from json_to_recordset(${json(
    state.groups.map((group, id) => ({ id, ...group })),
  )}) as r (id int, rank int, values json) where g.id = r.id`.execute(app.db());
  const rows = json(state.people.map((one, index) => ({ id: idOf(index), ...one })));
  const changed = sql`json_to_recordset(${rows}) as r (id int, membership json, claims json, "grant" json, groups int[])`;
  await sql`update memberships m set extra = r.membership, claims = r.claims from ${changed} where m.user_id = r.id`.execute(
    app.db(),
  );
  await sql`update app_grants g set attributes = r."grant" from ${changed} where g.user_id = r.id and g.app_id = ${APP}`.execute(
    app.db(),
  );
  await sql`delete from group_members where group_id < ${GROUPS}`.execute(app.db());
  await sql`insert into group_members (group_id, user_id, added_at)
    select unnest(r.groups), r.id, ${app.clock.now()} from ${changed}`.execute(app.db());
  // Last, because it reads the keys of the app.
  await app.as(ROOT).dataPermissions.setSchema({ id: 1, schema: schemaOf(state.client), mode: 'enforce' });
};

const orEmpty = (found: unknown) => found ?? {};

/** What each way gives the app about a person: null if it stays closed. */
const waysOf = async (app: TestApp, email: string) => {
  const ticket = await app
    .as(email)
    .apps.openTicket({ app_id: APP })
    .then(
      ({ ticket: text }) => orEmpty(claimsIn(text).data_permissions),
      () => null,
    );
  const launch = await app
    .as(email)
    .apps.launch({ app_slug: 'randomap' })
    .then(
      ({ url }) => new URL(url).searchParams.get('code'),
      () => null,
    );
  const exchanged = launch && (await app.as(null).tickets.exchange({ code: launch, app: 'randomap' }));
  const gate = await app.send('GET !/gate/randomap/', { as: email });
  const header = String(gate.headers['x-steward-ticket'] ?? '');
  const { allowed, data_permissions } = await app.as(ROOT).access.explain({ email, app_id: APP });
  return {
    ticket,
    launch: exchanged ? orEmpty(claimsIn(exchanged.ticket).data_permissions) : null,
    header: gate.statusCode === 204 ? orEmpty(claimsIn(header).data_permissions) : null,
    explanation: allowed ? orEmpty(data_permissions) : null,
  };
};

data('are the same in every way in, by the rule, and nothing invalid or missing opens', async ({ app }) => {
  await addPeople(app);
  let [states, closed] = [0, 0];
  for (const state of fc.sample(round, ROUNDS)) {
    await write(app, state);
    for (const [index, one] of state.people.entries()) {
      const expected = reference(state, one);
      const label = () => JSON.stringify({ app: state.app, client: state.client, groups: state.groups, one });
      for (const [way, found] of Object.entries(await waysOf(app, emailOf(index))))
        assert.equal(found, expected, `${way}: ${label()}`);
      states += 1;
      closed += expected === null ? 1 : 0;
    }
  }
  console.log(`\n# ${states} states, ${closed} of which keep the app closed`);
});

data.run();
