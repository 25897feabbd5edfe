import { type RawBuilder, sql } from 'kysely';
import { FACTOR_POLICIES, type FactorPolicy } from '../../../entities/client.ts';
import type { FactorKind } from '../../../entities/mfa.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';

/** 0: a password alone; 1: also a second factor; 2: a passkey, which cannot be phished. */
export type Strength = 0 | 1 | 2;

/** The strength that each kind of second factor proves. */
const STRENGTH_OF_KIND: Record<FactorKind, Strength> = { totp: 1, passkey: 2 };

/** The strength of logins that each policy requires. */
export const STRENGTH_OF_POLICY: Record<FactorPolicy, Strength> = {
  off: 0,
  optional: 0,
  required: 1,
  passkey: 2,
};

export { FACTOR_POLICIES };

/** The strength of a login, by its methods of RFC 8176. */
export const strengthOf = (methods: readonly string[]): Strength => {
  if (methods.includes('hwk') || methods.includes('swk')) return 2;
  return methods.includes('mfa') ? 1 : 0;
};

/** When a person must have any second factor, and when they must have a passkey, by all policies that count. Null: never. */
export type Demand = { factor_from: Date | null; passkey_from: Date | null };

export const neededStrength = ({ factor_from, passkey_from }: Demand, now: Date): Strength => {
  if (passkey_from && passkey_from <= now) return 2;
  return factor_from && factor_from <= now ? 1 : 0;
};

/** When this strength stops being enough, possibly in the future; null: never. */
export const insufficientFrom = ({ factor_from, passkey_from }: Demand, strength: Strength): Date | null => {
  if (strength === 2) return null;
  return strength === 1 ? passkey_from : factor_from;
};

/** The step that a login still needs: a second factor that the person has, an app to set up, or a passkey to add. */
export type LoginStep = 'code' | 'enrol' | 'passkey';

/** A person's second factors, and the requirements of policies for the person. */
export type FactorState = Demand & { enrolled: Strength };

/** When a person must have a second factor that they lack, and whether that is a passkey. Null: they have what is required. */
export const lackOf = (state: FactorState): { required_from: Date | null; needs_passkey: boolean } => {
  const required_from = insufficientFrom(state, state.enrolled);
  const { passkey_from } = state;
  const needs_passkey = required_from !== null && passkey_from !== null && passkey_from <= required_from;
  return { required_from, needs_passkey };
};

/**
 * The step that a login still needs after its methods. People with a second factor always need it. A person with a passkey can also log in
 * with a code, for example after the loss of the passkey: apps that require the passkey then ask for it.
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
 * The step that a login at an identity provider needs after the methods that the provider states: a second factor that the person has here,
 * if the policy requires one.
 * @throws Problem `second-factor-required` if they lack the required factor
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
 * The step that a session needs to open an app. The session of a person with a second factor may be older than the factor, or made without
 * it.
 */
export const nextAppStep = (state: FactorState, methods: readonly string[], now: Date): LoginStep | null => {
  const needed = neededStrength(state, now);
  if (strengthOf(methods) >= needed) return null;
  if (state.enrolled === 0) return 'enrol';
  return needed === 2 ? 'passkey' : 'code';
};

const STRENGTH = sql<Strength>`case kind ${sql.join(
  Object.entries(STRENGTH_OF_KIND).map(
    ([kind, strength]) => sql`when ${sql.lit(kind)} then ${sql.lit(strength)}`,
  ),
  sql` `,
)} end`;

/** SQL: the strength of the best second factor of a row of `users`, or of this alias; 0 without one. */
export const enrolledOf = (user: 'users' | 'person') => sql<Strength>`coalesce((
  select max(${STRENGTH}) from mfa_factors f where f.user_id = ${sql.ref(`${user}.id`)} and f.confirmed_at is not null), 0)`;

/** SQL: whether a row of `users` has a second factor of this strength. Compares with a set that is computed once for all rows. */
export const hasFactorOf = (strength: Strength) => condition`
  users.id in (select user_id from mfa_factors where confirmed_at is not null and ${STRENGTH} >= ${sql.lit(strength)})`;

export const ENROLLED = enrolledOf('users');

/** SQL: whether the policy of a row of `clients`, or of this alias, requires at least this strength. */
export const demands = (strength: Strength, clients = 'c'): RawBuilder<boolean> => {
  const policies = FACTOR_POLICIES.filter((policy) => STRENGTH_OF_POLICY[policy] >= strength);
  return condition`${sql.ref(`${clients}.factor_policy`)} in (${sql.join(policies.map((policy) => sql.lit(policy)))})`;
};

/** SQL: when the grace period of a membership ends. For people who have joined since the policy changed, it begins when they joined. */
export const graceEnd = (clients = 'c', memberships = 'm'): RawBuilder<Date> => sql`
  (greatest(${sql.ref(`${clients}.factor_policy_since`)}, ${sql.ref(`${memberships}.joined_at`)})
    + ${sql.ref(`${clients}.factor_grace_days`)} * interval '24 hours')`;

/** SQL: when the grace period of member `m` ends in client `c`, if the policy requires more than `user` has; otherwise null. */
export const lackingFrom = (user: 'users' | 'person'): RawBuilder<Date | null> => sql`
  case when ${demands(2)} and ${enrolledOf(user)} < 2 or ${demands(1)} and ${enrolledOf(user)} < 1 then ${graceEnd()} end`;

/** SQL: when the clients in which a row of `users` is an active member require this strength. Null: never. */
export const demandedFrom = (strength: Strength): RawBuilder<Date | null> => sql`
  (select min(${graceEnd()}) from memberships m join clients c on c.id = m.client_id
    where m.user_id = users.id and m.is_active_member and ${demands(strength)})`;

/** The operator's requirement for superusers and staff, without a grace period. */
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

/**
 * The requirement of a connection's client for a member. For the connection of the installation, the requirements of all policies: `all`.
 */
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

/** The columns of `FactorState` for `users` who open an app of `clients`, possibly as a member by `memberships`. */
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

/** The second factors of a user, and the requirements and recommendations of policies. */
export const readFactorState = (em: Em, userId: number, staffPolicy: StaffPolicy) =>
  kysely(em)
    .selectFrom('users')
    .select([...factorState(staffPolicy), isRecommended(staffPolicy).as('is_recommended')])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow(() => new Problem('unauthenticated'));
