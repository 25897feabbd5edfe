import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';

export type PasswordPolicy = {
  minLength: number;
  allowCommon: boolean;
  requireNumeric: boolean;
  requireUpper: boolean;
  requireLower: boolean;
  requireSpecial: boolean;
  /** 0: passwords never expire. */
  expirationDays: number;
};

/** The policy of a new client, and of users without a client. */
const DEFAULT_POLICY: PasswordPolicy = {
  minLength: 8,
  allowCommon: false,
  requireNumeric: false,
  requireUpper: false,
  requireLower: false,
  requireSpecial: false,
  expirationDays: 0,
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
  expirationDays: earlierExpiration(a.expirationDays, b.expirationDays),
});

const earlierExpiration = (a: number, b: number): number =>
  a === 0 || b === 0 ? Math.max(a, b) : Math.min(a, b);

/** Reads the policy for members of these clients. */
export const readPolicyOfClients = async (em: SqlEntityManager, clientIds: readonly number[]) => {
  const rows = await policyRows(em)
    .where(sql<boolean>`id = any(${[...clientIds]}::int[])`)
    .execute();
  return strictestPolicy(rows.map(toPolicy));
};

/** Reads the policy for a user, from all clients that they belong to. */
export const readPolicyOfUser = async (em: SqlEntityManager, userId: number): Promise<PasswordPolicy> => {
  const rows = await policyRows(em)
    .where(sql<boolean>`id in (select client_id from memberships where user_id = ${userId})`)
    .execute();
  return strictestPolicy(rows.map(toPolicy));
};

const policyRows = (em: SqlEntityManager) =>
  tables(em)
    .selectFrom('clients')
    .select(['password_min_length', 'password_allow_common', 'password_require_numeric'])
    .select(['password_require_upper', 'password_require_lower', 'password_require_special'])
    .select('password_expiration_days');

type PolicyRow = Awaited<ReturnType<ReturnType<typeof policyRows>['execute']>>[number];

const toPolicy = (row: PolicyRow): PasswordPolicy => ({
  minLength: row.password_min_length,
  allowCommon: row.password_allow_common,
  requireNumeric: row.password_require_numeric,
  requireUpper: row.password_require_upper,
  requireLower: row.password_require_lower,
  requireSpecial: row.password_require_special,
  expirationDays: row.password_expiration_days,
});
