import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { tables } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { readPasswordToken, type SignedLinks } from '../auth/signed-links.ts';

/** Minutes for which the link of a forgotten password is good. */
export const RESET_LINK_MINUTES = 60;

/**
 * The user whom the token of a mailed link lets set a password.
 * @throws Problem `invalid-link` when it was never made, is used, replaced or too old, or the user is inactive
 */
export const openPasswordLink = async (
  em: SqlEntityManager,
  links: SignedLinks,
  token: string,
  now: Date,
) => {
  const read = readPasswordToken(token);
  const row = read && (await linkRow(em, read.id, now));
  const isSigned =
    read !== null &&
    row != null &&
    links.isPasswordLinkSigned(
      { id: row.id, userId: row.user_id, createdAt: row.created_at },
      read.signature,
    );
  if (!row || !isSigned) throw new Problem('invalid-link');
  return {
    id: row.id,
    userId: row.user_id,
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
  };
};

/** Of two who use a link at once, one gets true. */
export const consumePasswordLink = async (tx: SqlEntityManager, id: number): Promise<boolean> => {
  const used = await tables(tx).deleteFrom('password_links').where('id', '=', id).executeTakeFirst();
  return used.numDeletedRows > 0n;
};

const linkRow = (em: SqlEntityManager, id: number, now: Date) =>
  tables(em)
    .selectFrom('password_links')
    .innerJoin('users', 'users.id', 'password_links.user_id')
    .select(['password_links.id', 'password_links.user_id', 'password_links.created_at'])
    .select(['users.email', 'users.first_name', 'users.last_name'])
    .where('password_links.id', '=', id)
    .where('password_links.expires_at', '>', now)
    .where('users.is_active', '=', true)
    .executeTakeFirst();
