import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import type { Credential } from '../access/actor.ts';

// What ends together with the access of a person: logins, links, launches. Each function runs in the transaction that ends the access.

export const CREDENTIAL_TABLES = { token: 'api_tokens', session: 'sessions' } as const;

/**
 * Deletes everything that gives users access: tokens, sessions, unfinished logins, links and launches, except the credential to keep. A
 * change of an address can still be undone.
 */
export const revokeCredentials = async (
  tx: Em,
  userIds: number | readonly number[],
  kept: Credential | null = null,
) => {
  const db = kysely(tx);
  const isOfUsers = isAnyOf('user_id', [userIds].flat(), 'int');
  for (const kind of ['token', 'session'] as const) {
    const keptId = kept?.kind === kind ? kept.id : 0;
    await db.deleteFrom(CREDENTIAL_TABLES[kind]).where(isOfUsers).where('id', '<>', keptId).execute();
  }
  for (const table of ['login_challenges', 'password_links', 'launch_codes'] as const)
    await db.deleteFrom(table).where(isOfUsers).execute();
  const uses = db.selectFrom('access_view_uses').select('id').where(isOfUsers);
  for (const table of ['embed_sessions', 'launch_codes'] as const)
    await db.deleteFrom(table).where('access_view_use_id', 'in', uses).execute();
  // Unconfirmed changes of the address.
  await db.deleteFrom('email_changes').where(isOfUsers).where('changed_at', 'is', null).execute();
};

/** Invalidates the links that undo a change. Call it when a client or a role begins to rely on accounts: it relies on the present mailboxes. */
export const endUndo = (tx: Em, userIds: number | readonly number[]) =>
  kysely(tx)
    .updateTable('email_changes')
    .set({ undo_until: null })
    .where(isAnyOf('user_id', [userIds].flat(), 'int'))
    .where('undo_until', 'is not', null)
    .execute();

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
        query
          .selectFrom('sso_connections')
          .select('id')
          .where(condition`client_id is not distinct from ${clientId}::int`),
      )
      .execute();
};

/**
 * Ends the launches and embedded pages of a user in the apps of these clients. Tickets need no revocation: introspection and forward
 * authentication decide again, and other verifiers accept them for `TICKET_SECONDS` at most.
 */
export const endLaunches = async (tx: Em, userId: number, clientIds: readonly number[]): Promise<void> => {
  const apps = sql`select id from apps where ${isAnyOf('client_id', clientIds, 'int')}`;
  const isUse = sql`u.user_id = ${userId} and v.app_id in (${apps})`;
  await endUses(tx, isUse, sql`user_id = ${userId} and app_id in (${apps})`);
};

/** Ends the logins by OpenID Connect that meet the condition, by taking their sessions from them. A worker notifies their apps. */
export const endOpenidLogins = (tx: Em, isLogin: RawBuilder<unknown>) =>
  sql`update openid_logins set session_id = null where ended_at is null and ${isLogin}`.execute(kysely(tx));

/** Deletes the sessions and codes of these uses `u` of views `v`, and these codes of users. */
export const endUses = async (
  tx: Em,
  isUse: RawBuilder<unknown>,
  isCode: RawBuilder<unknown>,
): Promise<void> => {
  const isOfUse = sql`access_view_use_id in (
    select u.id from access_view_uses u join access_views v on v.id = u.access_view_id where ${isUse})`;
  await sql`delete from embed_sessions where ${isOfUse}`.execute(kysely(tx));
  await sql`delete from launch_codes where ${isOfUse} or ${isCode}`.execute(kysely(tx));
};
