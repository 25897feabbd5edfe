import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { Credential } from '../access/actor.ts';
import { endCredentials } from '../auth/credentials.ts';
import { type PasswordPolicy, strictest } from './password-policy.ts';

type NewPassword = { userId: number; hash: string; now: Date; kept?: Credential | null };

/**
 * Sets a password, and ends every login of the user but the one that asked for it. By bound statements: what the
 * ORM writes ends up in the text of the statement.
 */
export const setPassword = async (
  tx: SqlEntityManager,
  { userId, hash, now, kept = null }: NewPassword,
): Promise<void> => {
  await tables(tx)
    .updateTable('users')
    .set({ password_hash: hash, last_password_set: now })
    .where('id', '=', userId)
    .execute();
  await endCredentials(tx, userId, kept);
};

/** What passwords of people of these clients have to meet: the strictest of them all. */
export const policyOfClients = async (
  em: SqlEntityManager,
  clientIds: readonly number[],
): Promise<PasswordPolicy> => {
  const rows = await policyRows(em)
    .where(sql<boolean>`id = any(${[...clientIds]}::int[])`)
    .execute();
  return strictest(rows.map(policyOf));
};

/** The strictest policy of all clients that a user belongs to. */
export const policyOfUser = async (em: SqlEntityManager, userId: number): Promise<PasswordPolicy> => {
  const rows = await policyRows(em)
    .where(sql<boolean>`id in (select client_id from memberships where user_id = ${userId})`)
    .execute();
  return strictest(rows.map(policyOf));
};

const policyRows = (em: SqlEntityManager) =>
  tables(em)
    .selectFrom('clients')
    .select(['password_min_length', 'password_allow_common', 'password_require_numeric'])
    .select(['password_require_upper', 'password_require_lower', 'password_require_special'])
    .select('password_expiration_days');

type PolicyRow = Awaited<ReturnType<ReturnType<typeof policyRows>['execute']>>[number];

const policyOf = (row: PolicyRow): PasswordPolicy => ({
  minLength: row.password_min_length,
  allowCommon: row.password_allow_common,
  requireNumeric: row.password_require_numeric,
  requireUpper: row.password_require_upper,
  requireLower: row.password_require_lower,
  requireSpecial: row.password_require_special,
  expirationDays: row.password_expiration_days,
});
