import { z } from 'zod';
import type { Assertion } from '../../adapters/identity-provider/identity-provider.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { NewEmail } from '../../lib/email-address.ts';
import { isStorableText } from '../../lib/json-value.ts';
import { CLIENT_IDS } from '../access/visibility.ts';
import { HAS_SECOND_FACTOR } from '../auth/credentials.ts';
import type { CodeOwner } from '../auth/factor-verification.ts';
import type { ConnectionRow } from './connections.ts';
import { domainOf, isProved } from './domains.ts';
import type { SsoReason } from './failures.ts';

/** What a connection takes from the claims of its provider. */
export const Stated = z.object({
  subject: z.string(),
  /** Normalized; null if the claim is missing or no address. */
  email: z.string().nullable(),
  isUnverified: z.boolean(),
  firstName: z.string(),
  lastName: z.string(),
  /** Values of the groups claim. Null: they do not say which groups the person is in. */
  groups: z.array(z.string()).nullable(),
});
export type Stated = z.infer<typeof Stated>;

const MAX_NAME_LENGTH = 150;

/** Reads the claims as the connection maps them. */
export const statedBy = (connection: ConnectionRow, { subject, claims }: Assertion): Stated => {
  const email = NewEmail.safeParse(claims[connection.email_claim]);
  return {
    subject,
    email: email.success ? email.data : null,
    // Some providers do not say, or send text.
    isUnverified: ![undefined, true, 'true'].includes(claims.email_verified as boolean),
    firstName: nameIn(claims[connection.first_name_claim]),
    lastName: nameIn(claims[connection.last_name_claim]),
    groups: groupsIn(connection, claims),
  };
};

const nameIn = (value: unknown): string =>
  typeof value === 'string' && isStorableText(value)
    ? value.trim().slice(0, MAX_NAME_LENGTH).toWellFormed()
    : '';

/** Without the claim, the person is in no group, unless the provider says that the list is elsewhere (OpenID Connect Core §5.6.2). */
const groupsIn = ({ groups_claim: name }: ConnectionRow, claims: Assertion['claims']): string[] | null => {
  if (name === '') return null;
  const elsewhere = claims._claim_names;
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && name in elsewhere;
  if (claims[name] === undefined && isElsewhere) return null;
  return [claims[name] ?? []].flat().filter((value): value is string => typeof value === 'string');
};

/** What a login does, depending on who the person is here. */
export type Decision =
  /** Their identity is known. `email`: the address of their account. */
  | { kind: 'log-in'; user: KnownUser; identityId: number }
  /** They have an account, and must show that it is theirs. `hasInvitation`: linking accepts it. */
  | { kind: 'link'; user: KnownUser; hasInvitation: boolean }
  /** They are a member who has no password: no login could show more than the provider does. */
  | { kind: 'adopt'; user: KnownUser }
  | { kind: 'accept-invitation'; email: string }
  | { kind: 'create'; email: string }
  | { kind: 'refuse'; reason: SsoReason };

export type KnownUser = CodeOwner & { hasSecondFactor: boolean };

/**
 * Decides what a login with these claims does. Changes nothing. A client decides about logins of its own people only: what its provider
 * states counts for nobody who belongs to another client, has left one, or has a role for all clients.
 */
export const decideLogin = async (
  em: Em,
  connection: ConnectionRow,
  stated: Stated,
  now: Date,
): Promise<Decision> => {
  const identity = await findIdentity(em, connection.issuer, stated.subject);
  if (identity?.client === connection.client) {
    const user = await findUser(em, connection.client, identity.userId);
    if (!user?.isMember) return refuse('unknown-person');
    const refusal = refusalOf(user);
    return refusal ? refuse(refusal) : { kind: 'log-in', user, identityId: identity.id };
  }
  const decision = await decideByAddress(em, connection, stated, now);
  // Only for those who would get in, so that it tells a provider of nobody else.
  return identity && decision.kind !== 'refuse' ? refuse('other-connection') : decision;
};

const decideByAddress = async (
  em: Em,
  connection: ConnectionRow,
  { email, isUnverified }: Stated,
  now: Date,
): Promise<Decision> => {
  if (email === null) return refuse('no-address');
  if (isUnverified) return refuse('unverified-address');
  const domain = await findDomain(em, connection.client, email);
  if (!domain) return refuse('foreign-address');
  if (!domain.isProved) return refuse('lapsed-domain');

  const hasInvitation = await isInvited(em, connection.client, email, now);
  const user = await findUser(em, connection.client, email);
  if (!user) {
    if (hasInvitation) return { kind: 'accept-invitation', email };
    return connection.provisions ? { kind: 'create', email } : refuse('unknown-person');
  }
  // Those who are invited accept by the link. What became of their account elsewhere is not for this client.
  if (!user.isMember) return refuse(hasInvitation ? 'password-only' : 'unknown-person');
  // An invitation brings a suspended member back.
  const refusal = refusalOf({ ...user, isSuspended: user.isSuspended && !hasInvitation });
  if (refusal) return refuse(refusal);
  if (user.isMember && !user.isSuspended && !user.hasLogin) return { kind: 'adopt', user };
  return { kind: 'link', user, hasInvitation };
};

const refuse = (reason: SsoReason): Decision => ({ kind: 'refuse', reason });

type FoundUser = NonNullable<Awaited<ReturnType<typeof findUser>>>;

const refusalOf = ({ isOperator, isElsewhere, isActive, isSuspended }: FoundUser): SsoReason | null => {
  if (isOperator || isElsewhere) return 'password-only';
  return isActive && !isSuspended ? null : 'inactive-person';
};

/** With and without a slash at its end, an issuer is the same provider. */
const findIdentity = (em: Em, issuer: string, subject: string) => {
  const bare = issuer.replace(/\/$/, '');
  return kysely(em)
    .selectFrom('external_identities as i')
    .innerJoin('sso_connections as c', 'c.id', 'i.connection_id')
    .select(['i.id', 'i.user_id as userId', 'c.client_id as client'])
    .where('i.issuer', 'in', [bare, `${bare}/`])
    .where('i.subject', '=', subject)
    .orderBy(condition`i.issuer = ${issuer}`, 'desc')
    .limit(1)
    .executeTakeFirst();
};

/** The user with this id or address. */
const findUser = (em: Em, clientId: number, key: number | string) =>
  kysely(em)
    .selectFrom('users')
    .leftJoin('memberships as own', (join) =>
      join.onRef('own.user_id', '=', 'users.id').on('own.client_id', '=', clientId),
    )
    .select(['users.id', 'users.email', 'users.last_password_set as lastPasswordSet'])
    .select(['users.is_active as isActive', CLIENT_IDS, HAS_SECOND_FACTOR.as('hasSecondFactor')])
    .select([
      condition`(users.is_superuser or users.is_staff)`.as('isOperator'),
      condition`own.user_id is not null`.as('isMember'),
      // Or was, as far as is known: then the account holds what happened there.
      condition`(users.shared_since is not null or exists (
        select from memberships m where m.user_id = users.id and m.client_id <> ${clientId}))`.as(
        'isElsewhere',
      ),
      condition`coalesce(not own.is_active_member, false)`.as('isSuspended'),
      condition`(users.password_hash is not null or ${HAS_SECOND_FACTOR} or exists (
        select from external_identities i where i.user_id = users.id))`.as('hasLogin'),
    ])
    .where(typeof key === 'number' ? 'users.id' : 'users.email', '=', key)
    .executeTakeFirst();

const findDomain = (em: Em, clientId: number, email: string) =>
  kysely(em)
    .selectFrom('client_domains')
    .select(isProved.as('isProved'))
    .where('client_id', '=', clientId)
    .where('domain', '=', domainOf(email))
    .where('verified_at', 'is not', null)
    .executeTakeFirst();

const isInvited = async (em: Em, clientId: number, email: string, now: Date): Promise<boolean> => {
  const pending = kysely(em).selectFrom('invitations').select('id').where('status', '=', 'pending');
  const own = pending.where('client_id', '=', clientId).where('email', '=', email);
  return (await own.where('expires_at', '>', now).executeTakeFirst()) !== undefined;
};
