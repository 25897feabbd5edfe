import { type InferResult, sql } from 'kysely';
import { ExternalIdentity } from '../../../entities/sso.ts';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireAccessAdmin } from '../access/actor.ts';
import { clientManagedBy, clientVisibleTo } from '../access/visibility.ts';
import { lockUser, readTarget } from '../accounts/user-locks.ts';
import { ofUser } from '../audit/audit.ts';
import { clientsOf, isOfClient } from '../clients/domains.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** The accounts of users at the identity providers of their clients. */
export const createIdentities = ({ em, audit }: Pick<UnitOfWork, 'em' | 'audit'>) => ({
  /**
   * The identities at providers of clients that the actor may see.
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
   * Removes an identity. Sessions and tokens that began with it end, too.
   * @throws Problem `not-found`, `forbidden`
   */
  unlink: (actor: Actor, email: string, id: number): Promise<void> =>
    em.transactional(async (tx) => {
      const { user } = await lockUser(tx, actor, email, requireAccessAdmin);
      const row = await identityRows(tx)
        .where('i.id', '=', id)
        .where('i.user_id', '=', user.id)
        .where(clientManagedBy(actor, sql`c.client_id`))
        .executeTakeFirstOrThrow(() => notFound('identity'));
      await tx.remove(tx.getReference(ExternalIdentity, id)).flush();
      await endConnectionAccess(tx, row.connection, [user.id]);
      const details = { connection: row.connection, name: row.connection_name };
      const about = { actor, target: ofUser(user), clients: clientsOf(row.client) };
      await audit.record(tx, [{ action: 'identity.unlink', ...about, details }]);
    }),
});

const identityRows = (em: Em) =>
  kysely(em)
    .selectFrom('external_identities as i')
    .innerJoin('sso_connections as c', 'c.id', 'i.connection_id')
    .select(['i.id', 'i.connection_id as connection', 'c.name as connection_name', 'c.client_id as client'])
    .select(['c.issuer', 'i.subject', 'i.email', 'i.created_at', 'i.last_login'])
    .orderBy('i.id');

type IdentityRow = InferResult<ReturnType<typeof identityRows>>[number];

/** Ends sessions that began by a connection, and logins that wait for a second factor, of these users or of all. */
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

/** Ends sessions and tokens that began by a connection, of these users or of all. */
export const endConnectionAccess = async (
  tx: Em,
  connectionId: number,
  userIds: readonly number[] | null = null,
): Promise<void> => {
  await endConnectionSessions(tx, connectionId, { userIds });
  const tokens = kysely(tx).deleteFrom('api_tokens').where('connection_id', '=', connectionId);
  await (userIds === null ? tokens : tokens.where(isAnyOf('user_id', userIds, 'int'))).execute();
};

/**
 * Ends what a locked user has by the connections of a client that they leave: identities, and the sessions and tokens that began with them.
 */
export const unlinkFromClient = async (tx: Em, userId: number, clientId: number | null): Promise<void> => {
  for (const table of ['external_identities', 'sessions', 'api_tokens', 'login_challenges'] as const)
    await kysely(tx)
      .deleteFrom(table)
      .where('user_id', '=', userId)
      .where('connection_id', 'in', (query) =>
        query.selectFrom('sso_connections').select('id').where(isOfClient('sso_connections', clientId)),
      )
      .execute();
};
