import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { notFound, userExists } from '../../lib/problems.ts';
import { userVisibleTo, type Viewer } from '../access/visibility.ts';

/** The id of the user whose present address this is, if the viewer may see the user. */
export const findUserId = async (em: Em, viewer: Viewer, email: string): Promise<number | undefined> => {
  const holder = await kysely(em)
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .where(userVisibleTo(viewer))
    .executeTakeFirst();
  return holder?.id;
};

/** @throws Problem `not-found`, also for a user whom the viewer may not see */
export const readUserId = async (em: Em, viewer: Viewer, email: string): Promise<number> => {
  const id = await findUserId(em, viewer, email);
  if (id === undefined) throw notFound('user');
  return id;
};

/**
 * SQL: the present address of a row of `users`, or null if the viewer must not know it. The viewer knows the addresses of users whom they
 * may see. Of other users, for example of people who have left, the viewer knows an address only if they had it already at the time `at`.
 */
export const addressKnownTo = (viewer: Viewer, at: RawBuilder<unknown>) => sql<string | null>`
  case when ${userVisibleTo(viewer)} or not exists (
    select from email_changes c where c.user_id = users.id and c.changed_at > ${at}) then users.email end`;

/** SQL: `addressKnownTo` for the user with this id; null without an id. */
export const addressOf = (viewer: Viewer, userId: RawBuilder<unknown>, at: RawBuilder<unknown>) =>
  sql<string | null>`(select ${addressKnownTo(viewer, at)} from users where users.id = ${userId})`;

/**
 * Locks addresses until the end of the transaction. Every account gets its address through here: of two accounts that want the same
 * address, the second one finds the first, or finds the address reserved.
 */
const lockAddresses = async (tx: Em, addresses: readonly string[]): Promise<void> => {
  for (const address of [...new Set(addresses)].sort())
    await sql`select pg_advisory_xact_lock(hashtextextended(${`address ${address}`}, 0))`.execute(kysely(tx));
};

/**
 * Locks the new address of an account, and the address that the account gives up.
 * @throws Problem `user-exists` if the new address is reserved: another account had it, and can still undo the change
 */
export const claimAddress = async (
  tx: Em,
  now: Date,
  { userId = 0, from, to }: { userId?: number; from?: string; to: string },
): Promise<void> => {
  await lockAddresses(tx, from === undefined ? [to] : [from, to]);
  const reserved = kysely(tx)
    .selectFrom('email_changes')
    .select('id')
    .where('old_email', '=', to)
    .where('undo_until', '>', now)
    .where(condition`user_id <> ${userId}`);
  if (await reserved.limit(1).executeTakeFirst()) throw userExists({});
};
