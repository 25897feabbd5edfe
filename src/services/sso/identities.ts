import { type InferResult, sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireAccessAdmin } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
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
      await kysely(tx).deleteFrom('external_identities').where('id', '=', id).execute();
      await endProviderSessions(tx, user.id, row.connection);
      const details = { connection: row.connection, name: row.connection_name };
      await audit.record(tx, [
        { action: 'identity.unlink', actor, target: user.email, clients: [row.client], details },
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

/** Ends the sessions of a user that began with a connection, and the logins that wait for a second factor. */
export const endProviderSessions = async (tx: Em, userId: number, connectionId: number): Promise<number> => {
  const db = kysely(tx);
  const ended = await db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('connection_id', '=', connectionId)
    .executeTakeFirst();
  await db
    .deleteFrom('login_challenges')
    .where('user_id', '=', userId)
    .where('connection_id', '=', connectionId)
    .execute();
  return Number(ended.numDeletedRows);
};

/** Unlinks a locked user from the connections of a client that they leave. */
export const unlinkFromClient = (tx: Em, userId: number, clientId: number) =>
  kysely(tx)
    .deleteFrom('external_identities')
    .where('user_id', '=', userId)
    .where('connection_id', 'in', (query) =>
      query.selectFrom('sso_connections').select('id').where('client_id', '=', clientId),
    )
    .execute();
