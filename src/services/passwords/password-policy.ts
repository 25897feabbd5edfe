import { type InferResult, sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';

const policyRows = (em: Db) =>
  tables(em)
    .selectFrom('clients')
    .select(['password_min_length as minLength', 'password_allow_common as allowCommon'])
    .select(['password_require_numeric as requireNumeric', 'password_require_upper as requireUpper'])
    .select(['password_require_lower as requireLower', 'password_require_special as requireSpecial']);

/** What a password must contain. When it expires is part of its verification. */
export type PasswordPolicy = InferResult<ReturnType<typeof policyRows>>[number];

/** The policy of a new client, and of users without a client. */
const DEFAULT_POLICY: PasswordPolicy = {
  minLength: 8,
  allowCommon: false,
  requireNumeric: false,
  requireUpper: false,
  requireLower: false,
  requireSpecial: false,
};

/** Combines policies into one that satisfies all of them, for users of several clients. */
export const strictestPolicy = (policies: readonly PasswordPolicy[]): PasswordPolicy =>
  policies.length === 0 ? DEFAULT_POLICY : policies.reduce(stricterPolicy);

const stricterPolicy = (a: PasswordPolicy, b: PasswordPolicy): PasswordPolicy => ({
  minLength: Math.max(a.minLength, b.minLength),
  allowCommon: a.allowCommon && b.allowCommon,
  requireNumeric: a.requireNumeric || b.requireNumeric,
  requireUpper: a.requireUpper || b.requireUpper,
  requireLower: a.requireLower || b.requireLower,
  requireSpecial: a.requireSpecial || b.requireSpecial,
});

/** Reads the policy for members of this client. */
export const readPolicyOfClient = async (em: Db, id: number): Promise<PasswordPolicy> =>
  strictestPolicy(await policyRows(em).where('id', '=', id).execute());

/** Reads the policy for a user, from all clients that they belong to. */
export const readPolicyOfUser = async (em: Db, userId: number): Promise<PasswordPolicy> => {
  const isOwn = sql<boolean>`id in (select client_id from memberships where user_id = ${userId})`;
  return strictestPolicy(await policyRows(em).where(isOwn).execute());
};
