import type { LogoutNotice } from '../../adapters/identity-provider/identity-provider.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { isStorableText } from '../../lib/json-value.ts';
import { Problem } from '../../lib/problems.ts';
import { ProviderError } from '../../lib/provider-error.ts';
import { endConnectionSessions } from '../accounts/access-ends.ts';
import { ofUser } from '../audit/audit.ts';
import { tokenDigest } from '../auth/credentials.ts';
import { clientsOf } from '../clients/domains.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type ConnectionRow, openConnection, postLogoutUrl } from './connections.ts';
import { failureOf, SsoFailure } from './failures.ts';

/** Whose sessions end: the person, the session at the provider, or both. */
type Logout = Pick<LogoutNotice, 'subject' | 'sid'>;

const NO_SESSION = 'The parameters iss and sid name no session of this connection.';

/**
 * Ends sessions that began with a connection when the person logs out at the provider, and finds the URL for the logout there after one
 * here.
 */
export const createProviderLogouts = (unit: UnitOfWork) => {
  const { em, clock, audit, logger, identityProvider, anonymousLimits, origin, baseUrl } = unit;
  const address = origin.address ?? '';

  /** @returns the number of people who were logged out */
  const endSessions = async (
    tx: Em,
    connection: ConnectionRow,
    { subject, sid }: Logout,
  ): Promise<number> => {
    let owners = kysely(tx)
      .selectFrom('external_identities as i')
      .innerJoin('users', 'users.id', 'i.user_id')
      .select(['users.id', 'users.email'])
      .where('i.connection_id', '=', connection.id);
    if (subject !== null) owners = owners.where('i.subject', '=', subject);
    if (sid !== null)
      owners = owners.where(
        condition`users.id in (
          select user_id from sessions where connection_id = ${connection.id} and sid = ${sid}
          union all
          select user_id from login_challenges where connection_id = ${connection.id} and sid = ${sid})`,
      );
    // Waits for unfinished logins of these people that are about to be completed.
    const users = await owners.orderBy('users.id').forUpdate('users').execute();
    await endConnectionSessions(tx, connection.id, { userIds: users.map(({ id }) => id), sid });
    const details = { connection: connection.id, name: connection.name };
    const about = { actor: null, clients: clientsOf(connection.client), details };
    await audit.record(
      tx,
      users.map((user) => ({ action: 'session.end-by-provider' as const, ...about, target: ofUser(user) })),
    );
    return users.length;
  };

  return {
    /**
     * Back-channel logout: the provider sends a signed token, which is accepted once.
     * @throws Problem `sso-failed`, `provider-unavailable`, `throttled`
     */
    byToken: async (connectionId: number, token: string): Promise<void> => {
      const { connection, registration } = await openConnection(unit, connectionId);
      const notice = await identityProvider
        .verifyLogout(registration, token)
        .catch(async (error: unknown) => {
          await anonymousLimits.addFailure('logout', address);
          if (!(error instanceof ProviderError)) throw error;
          logger.warn({ connection: connectionId, detail: error.message }, 'A logout token was refused');
          throw failureOf(error);
        });
      await em.transactional(async (tx) => {
        const isNew = await kysely(tx)
          .insertInto('sso_logouts')
          .values({
            connection_id: connectionId,
            digest: tokenDigest(notice.jti),
            expires_at: notice.expiresAt > clock.now() ? notice.expiresAt : clock.now(),
          })
          .onConflict((conflict) => conflict.doNothing())
          .returning('digest')
          .executeTakeFirst();
        if (!isNew) throw new Problem('sso-failed', { detail: 'This logout token was used before.' });
        await endSessions(tx, connection, notice);
      });
    },

    /**
     * Front-channel logout: the provider opens a page in the browser of the person. Browsers do not send the cookie of the session to a
     * page in a frame, so the session is found by its id at the provider.
     * @throws Problem `sso-failed`, `throttled`
     */
    bySession: async (connectionId: number, issuer: string, sid: string): Promise<void> => {
      const { connection } = await openConnection(unit, connectionId);
      if (issuer !== connection.issuer || sid === '' || !isStorableText(sid))
        throw new Problem('sso-failed', { detail: NO_SESSION });
      const ended = await em.transactional((tx) => endSessions(tx, connection, { subject: null, sid }));
      if (ended === 0) await anonymousLimits.addFailure('logout', address);
    },

    /**
     * The URL at which the provider ends its own session in the browser and then redirects to the login page. Null if the provider has no
     * logout or does not answer, or if the connection is inactive. Changes nothing here.
     */
    findUrlAtProvider: async (connectionId: number): Promise<string | null> => {
      try {
        const { registration } = await openConnection(unit, connectionId);
        return await identityProvider.logoutUrl(registration, postLogoutUrl(baseUrl));
      } catch (error) {
        if (error instanceof SsoFailure) return null;
        if (!(error instanceof ProviderError)) throw error;
        logger.warn({ connection: connectionId, detail: error.message }, 'No logout at the provider');
        return null;
      }
    },
  };
};
