import { type RawBuilder, sql } from 'kysely';
import { FACTOR_POLICIES, type FactorPolicy } from '../../../entities/client.ts';
import { FACTOR_KINDS, type FactorKind } from '../../../entities/mfa.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';

/** 0: a password alone; 1: also a second factor; 2: a passkey, which no other site can ask for. */
export type Strength = 0 | 1 | 2;

/** What each kind of second factor proves. */
const STRENGTH_OF_KIND: Record<FactorKind, Strength> = { totp: 1, passkey: 2 };

/** What each policy demands of logins. */
export const STRENGTH_OF_POLICY: Record<FactorPolicy, Strength> = {
  off: 0,
  optional: 0,
  required: 1,
  passkey: 2,
};

export { FACTOR_POLICIES };

/** What a login has proven, by its methods of RFC 8176. */
export const strengthOf = (methods: readonly string[]): Strength => {
  if (methods.includes('hwk') || methods.includes('swk')) return 2;
  return methods.includes('mfa') ? 1 : 0;
};

/** From when on a person needs any second factor, and from when on a passkey, by all policies that count. Null: never. */
export type Demand = { factor_from: Date | null; passkey_from: Date | null };

export const neededStrength = ({ factor_from, passkey_from }: Demand, now: Date): Strength => {
  if (passkey_from && passkey_from <= now) return 2;
  return factor_from && factor_from <= now ? 1 : 0;
};

/** From when on this strength is not enough, also in the future; null: it always is. */
export const insufficientFrom = ({ factor_from, passkey_from }: Demand, strength: Strength): Date | null => {
  if (strength === 2) return null;
  return strength === 1 ? passkey_from : factor_from;
};

/** What a login still needs: a second factor that the person has, an app that they have to set up, or a passkey that they have to add. */
export type LoginStep = 'code' | 'enrol' | 'passkey';

/** A person's second factors, and what policies demand of them. */
export type FactorState = Demand & { enrolled: Strength };

/** From when on a person needs another second factor than they have, and whether that is a passkey. Null: they have what is required. */
export const lackOf = (state: FactorState): { required_from: Date | null; needs_passkey: boolean } => {
  const required_from = insufficientFrom(state, state.enrolled);
  const { passkey_from } = state;
  const needs_passkey = required_from !== null && passkey_from !== null && passkey_from <= required_from;
  return { required_from, needs_passkey };
};

/**
 * What a login of a person needs beyond its methods: always the second factor of those who have one. Who has a passkey can log in with a code,
 * as after the loss of it: apps then ask for the passkey.
 */
export const nextLoginStep = (
  state: FactorState,
  methods: readonly string[],
  now: Date,
): LoginStep | null => {
  const proven = strengthOf(methods);
  const needed = neededStrength(state, now);
  if (state.enrolled > 0 && proven === 0) return 'code';
  if (needed <= Math.max(proven, state.enrolled)) return null;
  return needed === 2 ? 'passkey' : 'enrol';
};

/**
 * What a login at an identity provider needs beyond what the provider states: a second factor that the person has here, if the policy demands
 * one.
 * @throws Problem `second-factor-required` if they have none that is enough
 */
export const nextProviderStep = (
  state: FactorState,
  methods: readonly string[],
  now: Date,
): 'code' | null => {
  const proven = strengthOf(methods);
  const needed = neededStrength(state, now);
  if (needed > Math.max(proven, state.enrolled)) throw new Problem('second-factor-required');
  return needed > 0 && proven === 0 ? 'code' : null;
};

/**
 * What a session needs to open an app. Those who have a passkey use it; of those who have a second factor, the session may be older, or made
 * without it.
 */
export const nextAppStep = (state: FactorState, methods: readonly string[], now: Date): LoginStep | null => {
  const needed = neededStrength(state, now);
  if (strengthOf(methods) >= needed) return null;
  if (state.enrolled === 0) return 'enrol';
  return needed === 2 ? 'passkey' : 'code';
};

const STRENGTH = sql<Strength>`case kind ${sql.join(
  FACTOR_KINDS.map((kind) => sql`when ${sql.lit(kind)} then ${sql.lit(STRENGTH_OF_KIND[kind])}`),
  sql` `,
)} end`;

/** SQL: the strength of the best second factor of a row of `users`, or of this alias; 0 without one. */
export const enrolledOf = (user: 'users' | 'person') => sql<Strength>`coalesce((
  select max(${STRENGTH}) from mfa_factors f where f.user_id = ${sql.ref(`${user}.id`)} and f.confirmed_at is not null), 0)`;

/** SQL: whether a row of `users` has a second factor of this strength, by a set that is made once for many rows. */
export const hasFactorOf = (strength: Strength) => condition`
  users.id in (select user_id from mfa_factors where confirmed_at is not null and ${STRENGTH} >= ${sql.lit(strength)})`;

export const ENROLLED = enrolledOf('users');

/** SQL: whether the policy of a row of `clients`, or of this alias, demands at least this strength. */
export const demands = (strength: Strength, clients = 'c'): RawBuilder<boolean> => {
  const policies = FACTOR_POLICIES.filter((policy) => STRENGTH_OF_POLICY[policy] >= strength);
  return condition`${sql.ref(`${clients}.factor_policy`)} in (${sql.join(policies.map((policy) => sql.lit(policy)))})`;
};

/** SQL: when the grace of a membership ends: of people who have joined since the change of the policy, it begins when they joined. */
export const graceEnd = (clients = 'c', memberships = 'm'): RawBuilder<Date> => sql`
  (greatest(${sql.ref(`${clients}.factor_policy_since`)}, ${sql.ref(`${memberships}.joined_at`)})
    + ${sql.ref(`${clients}.factor_grace_days`)} * interval '24 hours')`;

/** SQL: when the grace of member `m` ends in client `c`, if its policy demands more than `user` has. Null: it does not. */
export const lackingFrom = (user: 'users' | 'person'): RawBuilder<Date | null> => sql`
  case when ${demands(2)} and ${enrolledOf(user)} < 2 or ${demands(1)} and ${enrolledOf(user)} < 1 then ${graceEnd()} end`;

/** SQL: from when on the clients of which a row of `users` is an active member demand this strength. Null: never. */
export const demandedFrom = (strength: Strength): RawBuilder<Date | null> => sql`
  (select min(${graceEnd()}) from memberships m join clients c on c.id = m.client_id
    where m.user_id = users.id and m.is_active_member and ${demands(strength)})`;

/** What the operator demands of superusers and staff, without grace. */
export type StaffPolicy = FactorPolicy;

/** The columns of `FactorState` for rows of `users`, by all clients of the person, and the setting for staff. */
export const factorState = (staffPolicy: StaffPolicy) => {
  const neededFrom = (strength: Strength) =>
    STRENGTH_OF_POLICY[staffPolicy] < strength
      ? demandedFrom(strength)
      : sql<Date | null>`case when users.is_superuser or users.is_staff then 'epoch'::timestamptz
          else ${demandedFrom(strength)} end`;
  return [
    ENROLLED.as('enrolled'),
    neededFrom(1).as('factor_from'),
    neededFrom(2).as('passkey_from'),
  ] as const;
};

/** What the policy of the client of a connection demands of a member; that of the installation, what all policies demand: `all`. */
export const readProviderDemand = async (
  em: Em,
  userId: number,
  connectionId: number,
  all: FactorState,
): Promise<FactorState> => {
  const demandedFrom = (strength: Strength) =>
    sql<Date | null>`case when ${demands(strength)} then ${graceEnd()} end`;
  const ofClient = await kysely(em)
    .selectFrom('sso_connections')
    .innerJoin('clients as c', 'c.id', 'sso_connections.client_id')
    .leftJoin('memberships as m', (join) =>
      join.onRef('m.client_id', '=', 'c.id').on('m.user_id', '=', userId),
    )
    .select([demandedFrom(1).as('factor_from'), demandedFrom(2).as('passkey_from')])
    .where('sso_connections.id', '=', connectionId)
    .executeTakeFirst();
  return { ...all, ...ofClient };
};

const demandedByApp = (strength: Strength) =>
  sql<Date | null>`case when ${demands(strength, 'clients')} then ${graceEnd('clients', 'memberships')} end`;

/** The columns of `FactorState` for `users` who open an app of `clients`, perhaps as a member of it by `memberships`. */
export const APP_FACTOR_STATE = [
  ENROLLED.as('enrolled'),
  demandedByApp(1).as('factor_from'),
  demandedByApp(2).as('passkey_from'),
] as const;

/** SQL: whether a client of a row of `users`, or the setting for staff, recommends a second factor. */
const isRecommended = (staffPolicy: StaffPolicy) => condition`(
  ${sql.lit(staffPolicy !== 'off')} and (users.is_superuser or users.is_staff)
  or exists (select from memberships m join clients c on c.id = m.client_id
    where m.user_id = users.id and m.is_active_member and c.factor_policy <> 'off'))`;

/** What second factors a user has, and what policies say of them. */
export const readFactorState = (em: Em, userId: number, staffPolicy: StaffPolicy) =>
  kysely(em)
    .selectFrom('users')
    .select([...factorState(staffPolicy), isRecommended(staffPolicy).as('is_recommended')])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow(() => new Problem('unauthenticated'));
