import { type InferResult, sql } from 'kysely';
import { ExternalIdentity } from '../../../entities/sso.ts';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireAccessAdmin } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { ofUser } from '../audit/audit.ts';
import { NEW_MAIL, newMailValues } from '../mail/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { endAllAccess } from '../users/account-access.ts';
import { lockUser, readTarget } from '../users/user-locks.ts';

/** Who users are at the identity providers of their clients. */
export const createIdentities = ({ em, audit }: Pick<UnitOfWork, 'em' | 'audit'>) => ({
  /**
   * Those of the clients that the actor may see.
   * @throws Problem `not-found`, `forbidden`
   */
  list: async (actor: Actor, email: string): Promise<IdentityRow[]> => {
    const target = await readTarget(em, actor, email);
    requireAccessAdmin(actor, target);
    return identityRows(em)
      .where('i.user_id', '=', target.id)
      .where(clientVisibleTo(actor, sql`c.client_id`))
      .execute();
  },

  /**
   * Ends what began with an identity, too. For admins of all clients of the user.
   * @throws Problem `not-found`, `forbidden`, `shared-user`
   */
  unlink: (actor: Actor, email: string, id: number): Promise<void> =>
    em.transactional(async (tx) => {
      const { user } = await lockUser(tx, actor, email);
      const row = await identityRows(tx)
        .where('i.id', '=', id)
        .where('i.user_id', '=', user.id)
        .executeTakeFirstOrThrow(() => notFound('identity'));
      await tx.remove(tx.getReference(ExternalIdentity, id)).flush();
      await endConnectionSessions(tx, row.connection, { userIds: [user.id] });
      const details = { connection: row.connection, name: row.connection_name };
      await audit.record(tx, [
        { action: 'identity.unlink', actor, target: ofUser(user), clients: [row.client], details },
      ]);
    }),
});

const identityRows = (em: Em) =>
  kysely(em)
    .selectFrom('external_identities as i')
    .innerJoin('sso_connections as c', 'c.id', 'i.connection_id')
    .select(['i.id', 'i.connection_id as connection', 'c.name as connection_name', 'c.client_id as client'])
    .select(['i.issuer', 'i.subject', 'i.email', 'i.created_at', 'i.last_login'])
    .orderBy('i.id');

type IdentityRow = InferResult<ReturnType<typeof identityRows>>[number];

/** Ends the sessions that began with a connection, of these users or all, and the logins that wait for a second factor. */
export const endConnectionSessions = async (
  tx: Em,
  connectionId: number,
  { userIds = null, sid = null }: { userIds?: readonly number[] | null; sid?: string | null } = {},
): Promise<void> => {
  for (const table of ['sessions', 'login_challenges'] as const) {
    let rows = kysely(tx).deleteFrom(table).where('connection_id', '=', connectionId);
    if (userIds !== null) rows = rows.where(isAnyOf('user_id', userIds, 'int'));
    if (sid !== null) rows = rows.where('sid', '=', sid);
    await rows.execute();
  }
};

/**
 * Call it when locked users have joined a client, or got a role for all clients. A provider logs in people of its own client alone. Its
 * admins decide to which account it leads whom, and could have prepared one for a person: so an account that it could ever log in to
 * starts again, with nothing of the past that logs in, and a mail to its address with a link to set a password. Has no audit entry, which would
 * tell the first client when they joined another.
 */
export const unlinkShared = async (tx: Em, userIds: readonly number[], now: Date): Promise<void> => {
  if (userIds.length === 0) return;
  const { rows } = await sql<{ user_id: number }>`
    with ended as (
      delete from provider_links link using users
      where ${isAnyOf('link.user_id', userIds, 'int')} and users.id = link.user_id
        and (users.is_superuser or users.is_staff or exists (
          select from memberships m where m.user_id = users.id and m.client_id <> link.client_id))
      returning link.user_id
    )
    select distinct user_id from ended`.execute(kysely(tx));
  for (const { user_id: userId } of rows) {
    await endAllAccess(tx, userId, now);
    for (const table of ['external_identities', 'provider_links'] as const)
      await kysely(tx).deleteFrom(table).where('user_id', '=', userId).execute();
    await enqueuePasswordRenewal(tx, userId, now);
  }
};

/** Inactive people get a link when they are reactivated and ask for one. */
const enqueuePasswordRenewal = (tx: Em, userId: number, now: Date) =>
  sql`insert into outbox_mails (kind, recipient, user_id, ${NEW_MAIL})
    select 'password-renewal', email, id, ${newMailValues(now)} from users
    where id = ${userId}::int and is_active`.execute(kysely(tx));

/** Unlinks a locked user from the connections of a client that they leave. */
export const unlinkFromClient = (tx: Em, userId: number, clientId: number) =>
  kysely(tx)
    .deleteFrom('external_identities')
    .where('user_id', '=', userId)
    .where('connection_id', 'in', (query) =>
      query.selectFrom('sso_connections').select('id').where('client_id', '=', clientId),
    )
    .execute();
