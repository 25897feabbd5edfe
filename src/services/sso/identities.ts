import { type InferResult, sql } from 'kysely';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireAccessAdmin } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { FACTOR_MAILS } from '../auth/factor-enrolment.ts';
import { enqueueFactorNotice } from '../mail/enqueue-mails.ts';
import { NEW_MAIL, newMailValues } from '../mail/new-mail.ts';
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
      await endConnectionSessions(tx, row.connection, user.id);
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

/** Ends the sessions that began with a connection, of one user or all, and the logins that wait for a second factor. */
export const endConnectionSessions = async (
  tx: Em,
  connectionId: number,
  userId: number | null = null,
): Promise<void> => {
  for (const table of ['sessions', 'login_challenges'] as const) {
    const rows = kysely(tx).deleteFrom(table).where('connection_id', '=', connectionId);
    await (userId === null ? rows : rows.where('user_id', '=', userId)).execute();
  }
};

/**
 * Call it when locked users have joined a client, or got a role for all clients. A provider logs in people of its own client alone: all
 * others are unlinked, and what the provider of another client could have begun in their name since the first link ends, even if it was
 * unlinked before. They keep older passwords, and what they did with them, and get a mail if a second factor is gone. Has no audit entry,
 * which would tell the first client when they joined another.
 */
export const unlinkShared = async (tx: Em, userIds: readonly number[], now: Date): Promise<void> => {
  if (userIds.length === 0) return;
  const { rows } = await sql<{ user_id: number; since: Date }>`
    with ended as (
      delete from provider_links link using users
      where ${isAnyOf('link.user_id', userIds, 'int')} and users.id = link.user_id
        and (users.is_superuser or users.is_staff or exists (
          select from memberships m where m.user_id = users.id and m.client_id <> link.client_id))
      returning link.user_id, link.since
    )
    select user_id, min(since) as since from ended group by user_id`.execute(kysely(tx));
  for (const { user_id: userId, since } of rows) {
    const db = kysely(tx);
    const newer = (table: 'sessions' | 'api_tokens' | 'mfa_factors') =>
      db.deleteFrom(table).where('user_id', '=', userId).where('created_at', '>=', since);
    // A provider that has moved the account to a mailbox of its own could have set one there.
    const passwords = db.updateTable('users').set({ password_hash: null, last_password_set: now });
    const { numUpdatedRows: newPasswords } = await passwords
      .where('id', '=', userId)
      .where('last_password_set', '>=', since)
      .where('password_hash', 'is not', null)
      .executeTakeFirst();
    const isOwn = condition`(${newPasswords === 0n} and connection_id is null and 'pwd' = any(methods))`;
    await newer('sessions').where(condition`not ${isOwn}`).execute();
    await newer('api_tokens').execute();
    const factors = await newer('mfa_factors')
      .where('confirmed_at', 'is not', null)
      .returning('kind')
      .execute();
    await newer('mfa_factors').execute();
    for (const kind of new Set(factors.map((factor) => factor.kind)))
      await enqueueFactorNotice(tx, FACTOR_MAILS[kind].removed, { userId, now, address: null });
    for (const table of ['external_identities', 'recovery_codes', 'login_challenges', 'sso_logins'] as const)
      await db.deleteFrom(table).where('user_id', '=', userId).execute();
    // Changes of the address that are not confirmed yet.
    await db
      .deleteFrom('email_changes')
      .where('user_id', '=', userId)
      .where('changed_at', 'is', null)
      .execute();
    await enqueuePasswordSetup(tx, userId, now);
  }
};

/** Mails a link to set a password to an active user who has none. */
const enqueuePasswordSetup = (tx: Em, userId: number, now: Date) =>
  sql`insert into outbox_mails (kind, recipient, user_id, ${NEW_MAIL})
    select 'password-setup', email, id, ${newMailValues(now)} from users
    where id = ${userId}::int and is_active and password_hash is null`.execute(kysely(tx));

/** Unlinks a locked user from the connections of a client that they leave. */
export const unlinkFromClient = (tx: Em, userId: number, clientId: number) =>
  kysely(tx)
    .deleteFrom('external_identities')
    .where('user_id', '=', userId)
    .where('connection_id', 'in', (query) =>
      query.selectFrom('sso_connections').select('id').where('client_id', '=', clientId),
    )
    .execute();
