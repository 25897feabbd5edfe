import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { FactorPolicy } from '../../../entities/client.ts';
import { DAY_MS } from '../../../src/lib/clock.ts';
import {
  APP_FACTOR_STATE,
  type FactorState,
  insufficientFrom,
  lackOf,
  neededStrength,
  nextAppStep,
  nextLoginStep,
  readFactorState,
  type StaffPolicy,
  type Strength,
} from '../../../src/services/policies/factor-policy.ts';
import { addRows, rowOf, setRows } from '../../support/rows.ts';
import { enroll } from '../../support/second-factors.ts';
import { ADA, appSuite, STAFF, type TestApp } from '../../support/test-app.ts';

const rule = appSuite('the policy for second factors');

/** Days from now; the client has the policy since `since`, with `grace` days. */
type Membership = { policy: FactorPolicy; since: number; grace: number; joined?: number; isActive?: boolean };
const has = (policy: FactorPolicy, since: number, grace: number, more: Partial<Membership> = {}) => ({
  policy,
  since,
  grace,
  ...more,
});

type Row = [
  title: string,
  memberships: Membership[],
  /** From when on, in days from now, any second factor and a passkey are needed. */
  demand: [factor: number | null, passkey: number | null],
  staff?: { policy: StaffPolicy; isMember?: boolean },
];

const ROWS: Row[] = [
  ['demands nothing without clients', [], [null, null]],
  ['demands nothing if off', [has('off', -9, 0)], [null, null]],
  ['demands nothing if optional', [has('optional', -9, 0)], [null, null]],
  ['demands it at once without grace', [has('required', 0, 0)], [0, null]],
  ['demands it after the grace', [has('required', -1, 7)], [6, null]],
  ['counts the grace from the day of joining', [has('required', -30, 7, { joined: -2 })], [5, null]],
  ['counts the grace from the policy if joined before', [has('required', -3, 7, { joined: -30 })], [4, null]],
  ['takes the client that demands it first', [has('required', -1, 9), has('required', -1, 3)], [2, null]],
  ['leaves out suspended memberships', [has('required', -9, 0, { isActive: false })], [null, null]],
  ['demands a passkey', [has('passkey', -9, 2)], [-7, -7]],
  ['demands a passkey here, any factor there', [has('passkey', 0, 5), has('required', -9, 0)], [-9, 5]],
  ['demands nothing of members', [], [null, null], { policy: 'required', isMember: true }],
  ['demands it of staff at once', [has('required', 0, 9)], [-Infinity, null], { policy: 'required' }],
  ['demands a passkey of staff', [has('required', 0, 9)], [-Infinity, -Infinity], { policy: 'passkey' }],
  ['demands a passkey of members', [has('passkey', 0, 9)], [9, 9], { policy: 'passkey', isMember: true }],
  ['recommends it to staff', [], [null, null], { policy: 'optional' }],
];

const write = async (app: TestApp, email: string, memberships: readonly Membership[]) => {
  const db = app.db();
  const now = app.clock.now().getTime();
  const at = (days: number) => new Date(now + days * DAY_MS);
  const { id } = await rowOf(app, 'users', { email });
  await db.deleteFrom('memberships').where('user_id', '=', id).execute();
  for (const [index, { policy, since, grace, joined = -99, isActive = true }] of memberships.entries()) {
    const client = index + 1;
    const rules = { factor_policy: policy, factor_grace_days: grace, factor_policy_since: at(since) };
    await setRows(app, 'clients', { id: client }, rules);
    const membership = { client_id: client, user_id: id, joined_at: at(joined) };
    await addRows(app, 'memberships', { ...membership, is_active_member: isActive });
  }
  return id;
};

const daysOf = (date: Date | null, app: TestApp): number | null => {
  if (date === null) return null;
  return date.getTime() === 0 ? -Infinity : (date.getTime() - app.clock.now().getTime()) / DAY_MS;
};

for (const [title, memberships, demand, staff] of ROWS)
  rule(title, async ({ app }) => {
    const id = await write(app, staff && !staff.isMember ? STAFF : ADA, memberships);
    const state = await readFactorState(app.orm.em.fork(), id, staff?.policy ?? 'optional');

    assert.equal([daysOf(state.factor_from, app), daysOf(state.passkey_from, app)], demand);
  });

rule('of an app is that of its client alone', async ({ app }) => {
  const id = await write(app, ADA, [
    { policy: 'required', since: -9, grace: 3, joined: -20 },
    { policy: 'passkey', since: -9, grace: 0 },
  ]);
  const states = await app
    .db()
    .selectFrom('clients')
    .leftJoin('users', (join) => join.on(sql`users.id`, '=', id))
    .leftJoin('memberships', (join) =>
      join.onRef('memberships.client_id', '=', 'clients.id').onRef('memberships.user_id', '=', 'users.id'),
    )
    .select(APP_FACTOR_STATE)
    .where('clients.id', 'in', [1, 2])
    .orderBy('clients.id')
    .execute();

  assert.equal(
    states.map(({ factor_from, passkey_from }) => [daysOf(factor_from, app), daysOf(passkey_from, app)]),
    [
      [-6, null],
      [-9, -9],
    ],
  );
});

rule('knows the factor that a person has', async ({ app }) => {
  const id = await write(app, ADA, []);
  const enrolled = async () => (await readFactorState(app.orm.em.fork(), id, 'off')).enrolled;

  assert.is(await enrolled(), 0);
  await app.as(ADA).mfa.startTotp({});
  assert.is(await enrolled(), 0, 'not before the first code');
  await enroll(app, ADA);
  assert.is(await enrolled(), 1);
});

type Case = [
  enrolled: Strength,
  needed: Strength,
  methods: string[],
  login: 'code' | 'enrol' | 'passkey' | null,
  app: 'code' | 'enrol' | 'passkey' | null,
];

const CASES: Case[] = [
  [0, 0, ['pwd'], null, null],
  [0, 1, ['pwd'], 'enrol', 'enrol'],
  [0, 2, ['pwd'], 'passkey', 'enrol'],
  [1, 0, ['pwd'], 'code', null],
  [1, 1, ['pwd'], 'code', 'code'],
  [1, 2, ['pwd'], 'code', 'passkey'],
  [1, 0, ['pwd', 'otp', 'mfa'], null, null],
  [1, 1, ['pwd', 'otp', 'mfa'], null, null],
  [1, 2, ['pwd', 'otp', 'mfa'], 'passkey', 'passkey'],
  // By a passkey that was removed since.
  [1, 2, ['hwk', 'mfa'], null, null],
  [2, 0, ['pwd'], 'code', null],
  [2, 2, ['pwd'], 'code', 'passkey'],
  [2, 2, ['pwd', 'otp', 'mfa'], null, 'passkey'],
  [2, 2, ['hwk', 'mfa'], null, null],
  [2, 2, ['swk'], null, null],
  // Their factors were reset since: their sessions were made with one.
  [0, 1, ['pwd', 'otp', 'mfa'], null, null],
  // Of a provider that states a second factor.
  [0, 2, ['sso', 'otp', 'mfa'], 'passkey', 'enrol'],
];

for (const [enrolled, needed, methods, login, opening] of CASES)
  rule(`of ${needed}, of a person with ${enrolled}, after ${methods.join(' and ')}`, ({ app }) => {
    const now = app.clock.now();
    const at = (strength: Strength) => (needed >= strength ? now : new Date(now.getTime() + 1));
    const state: FactorState = { enrolled, factor_from: at(1), passkey_from: at(2) };

    assert.is(neededStrength(state, now), needed);
    assert.is(nextLoginStep(state, methods, now), login, 'login');
    assert.is(nextAppStep(state, methods, now), opening, 'app');
  });

rule('says from when on a factor is not enough', ({ app }) => {
  const [soon, later] = [app.clock.now(), new Date(app.clock.now().getTime() + DAY_MS)];
  const demand = { factor_from: soon, passkey_from: later };

  assert.equal(
    ([0, 1, 2] as const).map((strength) => insufficientFrom(demand, strength)),
    [soon, later, null],
  );
});

rule('says whether what a person lacks is a passkey', ({ app }) => {
  const [soon, later] = [app.clock.now(), new Date(app.clock.now().getTime() + DAY_MS)];
  const needsPasskey = (enrolled: Strength, factor_from: Date | null, passkey_from: Date | null) =>
    lackOf({ enrolled, factor_from, passkey_from }).needs_passkey;

  assert.is(needsPasskey(0, soon, soon), true);
  assert.is(needsPasskey(0, soon, later), false, 'any second factor comes first');
  assert.is(needsPasskey(1, soon, later), true);
  assert.is(needsPasskey(0, soon, null), false);
  assert.is(needsPasskey(2, soon, soon), false);
});

rule.run();
