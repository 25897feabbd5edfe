import { condition, type Em, kysely } from '../../db/kysely.ts';
import { CLIENT_IDS, hasGlobalRole } from '../access/visibility.ts';
import { domainOf, isProved } from '../clients/connection-lookup.ts';
import { isOfClient } from '../clients/domains.ts';
import type { ConnectionRow } from './connections.ts';
import type { SsoReason } from './failures.ts';
import type { Stated } from './stated.ts';

/** What a login does, depending on the user who the person is here. */
export type Decision =
  /** Their identity is known. */
  | { kind: 'log-in'; user: KnownUser; identityId: number }
  /** Their address has an account, which gets the identity. `joins`: how they become a member; null if they are one already. */
  | { kind: 'link'; user: KnownUser; joins: 'invitation' | 'provision' | null }
  | { kind: 'accept-invitation'; email: string }
  | { kind: 'create'; email: string }
  | { kind: 'refuse'; reason: SsoReason };

export type KnownUser = NonNullable<Awaited<ReturnType<typeof findUser>>>;

/**
 * Decides what a login with these claims does. Changes nothing. The session will be confined to the client, so that the provider's claims
 * count only there. The provider of the installation logs in superusers and staff.
 */
export const decideLogin = async (
  em: Em,
  connection: ConnectionRow,
  stated: Stated,
  now: Date,
): Promise<Decision> => {
  if (!stated.isOfOrganization) return refuse('foreign-account');
  const identity = await findIdentity(em, connection.id, stated.subject);
  if (!identity) return decideByAddress(em, connection, stated, now);
  const user = await findUser(em, connection.client, identity.userId);
  if (!user || !(connection.client === null ? user.isOperator : user.isMember))
    return refuse(connection.client === null ? 'operators-only' : 'unknown-person');
  if (!user.isActive || user.isSuspended) return refuse('inactive-person');
  return { kind: 'log-in', user, identityId: identity.id };
};

/** The client has verified the domain of the address, so its provider may vouch for the address. */
const decideByAddress = async (
  em: Em,
  { client, provisions }: ConnectionRow,
  { email, isUnverified }: Stated,
  now: Date,
): Promise<Decision> => {
  if (email === null) return refuse('no-address');
  if (isUnverified) return refuse('unverified-address');
  const domain = await findDomain(em, client, email);
  if (!domain) return refuse('foreign-address');
  if (!domain.isProved) return refuse('lapsed-domain');

  const user = await findUser(em, client, email);
  if (client === null && !user?.isOperator) return refuse('operators-only');
  const isInvited = client !== null && (await hasInvitation(em, client, email, now));
  if (!user) {
    if (isInvited) return { kind: 'accept-invitation', email };
    return provisions ? { kind: 'create', email } : refuse('unknown-person');
  }
  // An invitation reactivates a suspended member.
  if (!user.isActive || (user.isSuspended && !isInvited)) return refuse('inactive-person');
  if (isInvited) return { kind: 'link', user, joins: 'invitation' };
  if (user.isMember || client === null) return { kind: 'link', user, joins: null };
  return provisions ? { kind: 'link', user, joins: 'provision' } : refuse('unknown-person');
};

const refuse = (reason: SsoReason): Decision => ({ kind: 'refuse', reason });

const findIdentity = (em: Em, connectionId: number, subject: string) =>
  kysely(em)
    .selectFrom('external_identities')
    .select(['id', 'user_id as userId'])
    .where('connection_id', '=', connectionId)
    .where('subject', '=', subject)
    .executeTakeFirst();

/** The user with this id or address. */
const findUser = (em: Em, clientId: number | null, key: number | string) =>
  kysely(em)
    .selectFrom('users')
    .leftJoin('memberships as own', (join) =>
      join.onRef('own.user_id', '=', 'users.id').on('own.client_id', '=', clientId),
    )
    .select(['users.id', 'users.email', 'users.is_active as isActive', CLIENT_IDS])
    .select('users.is_email_verified as isEmailVerified')
    .select([
      hasGlobalRole().as('isOperator'),
      condition`own.user_id is not null`.as('isMember'),
      condition`coalesce(not own.is_active_member, false)`.as('isSuspended'),
    ])
    .where(typeof key === 'number' ? 'users.id' : 'users.email', '=', key)
    .executeTakeFirst();

const findDomain = (em: Em, clientId: number | null, email: string) =>
  kysely(em)
    .selectFrom('client_domains')
    .select(isProved.as('isProved'))
    .where(isOfClient('client_domains', clientId))
    .where('domain', '=', domainOf(email))
    .where('verified_at', 'is not', null)
    .executeTakeFirst();

const hasInvitation = async (em: Em, clientId: number, email: string, now: Date): Promise<boolean> => {
  const pending = kysely(em).selectFrom('invitations').select('id').where('status', '=', 'pending');
  const own = pending.where('client_id', '=', clientId).where('email', '=', email);
  return (await own.where('expires_at', '>', now).executeTakeFirst()) !== undefined;
};
