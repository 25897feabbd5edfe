import { type InferResult, sql } from 'kysely';
import { ExternalIdentity } from '../../../entities/sso.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireLoginAdmin } from '../access/actor.ts';
import { isAllowedIn } from '../access/visibility.ts';
import { endConnectionAccess } from '../accounts/access-ends.ts';
import { lockUser, readTarget } from '../accounts/user-locks.ts';
import { ofUser } from '../audit/audit.ts';
import { clientsOf } from '../clients/domains.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** The accounts of users at the identity providers of their clients. */
export const createIdentities = ({ em, audit }: Pick<UnitOfWork, 'em' | 'audit'>) => ({
  /**
   * The identities at providers of clients whose logins the actor may end.
   * @throws Problem `not-found`, `forbidden`
   */
  list: async (actor: Actor, email: string): Promise<IdentityRow[]> => {
    const target = await readTarget(em, actor, email);
    requireLoginAdmin(actor, target);
    return identityRows(em)
      .where('i.user_id', '=', target.id)
      .where(isAllowedIn(sql`c.client_id`, actor, 'manage-credentials'))
      .execute();
  },

  /**
   * Removes an identity. Sessions and tokens that began with it end, too.
   * @throws Problem `not-found`, `forbidden`
   */
  unlink: (actor: Actor, email: string, id: number): Promise<void> =>
    em.transactional(async (tx) => {
      const { user } = await lockUser(tx, actor, email, requireLoginAdmin);
      const row = await identityRows(tx)
        .where('i.id', '=', id)
        .where('i.user_id', '=', user.id)
        .where(isAllowedIn(sql`c.client_id`, actor, 'manage-credentials'))
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
