import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { notFound, userExists } from '../../lib/problems.ts';
import { userVisibleTo, type Viewer } from '../access/visibility.ts';

/** The id of the user who has this address now, if the viewer may see them. */
export const findUserId = async (em: Em, viewer: Viewer, email: string): Promise<number | undefined> => {
  const holder = await kysely(em)
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .where(userVisibleTo(viewer))
    .executeTakeFirst();
  return holder?.id;
};

/** @throws Problem `not-found`, also for a user the viewer may not see */
export const readUserId = async (em: Em, viewer: Viewer, email: string): Promise<number> => {
  const id = await findUserId(em, viewer, email);
  if (id === undefined) throw notFound('user');
  return id;
};

/**
 * SQL: the present address of a row of `users` that the viewer may know: of users whom they see, and of others, who have left, if it was
 * theirs at that time already; else null.
 */
export const addressKnownTo = (viewer: Viewer, at: RawBuilder<unknown>) => sql<string | null>`
  case when ${userVisibleTo(viewer)} or not exists (
    select from email_changes c where c.user_id = users.id and c.changed_at > ${at}) then users.email end`;

/** SQL: as `addressKnownTo`, of the user with an id; null without one. */
export const addressOf = (viewer: Viewer, userId: RawBuilder<unknown>, at: RawBuilder<unknown>) =>
  sql<string | null>`(select ${addressKnownTo(viewer, at)} from users where users.id = ${userId})`;

/**
 * Locks addresses until the end of the transaction. Every account gets its address through here, so that of two that want one, the second
 * sees the first, and what was reserved.
 */
const lockAddresses = async (tx: Em, addresses: readonly string[]): Promise<void> => {
  for (const address of [...new Set(addresses)].sort())
    await sql`select pg_advisory_xact_lock(hashtextextended(${`address ${address}`}, 0))`.execute(kysely(tx));
};

/**
 * Locks an address that an account is about to get, and that which it gives up.
 * @throws Problem `user-exists` if another account had it, and can still undo its change
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
