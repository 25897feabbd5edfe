import { hash as digest } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { type Condition, condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { newSecret } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor, Credential } from '../access/actor.ts';
import { type AuthMethod, addMethods } from '../access/auth-methods.ts';
import { CREDENTIAL_TABLES, revokeCredentials } from '../accounts/access-ends.ts';
import {
  type FactorState,
  factorState,
  STRENGTH_OF_POLICY,
  type StaffPolicy,
  strengthOf,
} from '../policies/factor-policy.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** SQL: whether a token has not ended. One that was refreshed ends after a minute. */
export const isTokenUnexpired = (now: Date): Condition =>
  condition`coalesce(api_tokens.expires_at > ${now}::timestamptz, true)`;

/** Maximum number of sessions, and of tokens from logins, per user; the oldest are deleted. Named and refreshed tokens are not counted. */
const LOGINS_PER_USER = 50;
const MAX_USER_AGENT_LENGTH = 255;

/** SQL: whether the user of the table `users` has a second factor. */
export const HAS_SECOND_FACTOR = condition`exists (select from mfa_factors
  where mfa_factors.user_id = users.id and mfa_factors.confirmed_at is not null)`;

export const hasSecondFactor = async (em: Em, userId: number): Promise<boolean> => {
  const users = kysely(em).selectFrom('users').select('id').where('id', '=', userId);
  return (await users.where(HAS_SECOND_FACTOR).executeTakeFirst()) !== undefined;
};

type NewToken = {
  userId: number;
  token: string;
  now: Date;
  /** When the user entered a password for the token; null without one. */
  authenticatedAt: Date | null;
  name?: string;
  /** The credential by which the token is made; null: a password. */
  madeBy?: Credential | null;
  limits?: TokenLimits;
  /** The user who makes it for a service account. */
  createdBy?: number | null;
};

/** What narrows a token. Null: nothing. */
export type TokenLimits = {
  client_id: number | null;
  scopes: string[] | null;
  networks: string[] | null;
  expires_at: Date | null;
};

export const UNLIMITED: TokenLimits = { client_id: null, scopes: null, networks: null, expires_at: null };
type NewSession = {
  userId: number;
  secret: string;
  now: Date;
  userAgent: string;
  methods: readonly string[];
  /** Null unless the login was by single sign-on. */
  provider: ProviderSession | null;
  authenticatedAt: Date;
};

/** The session at an identity provider by which a session here began. */
export type ProviderSession = { connectionId: number; sid: string | null };

/** SHA-256 of a token or session secret; only the digest is stored. The secrets are too long for rainbow tables. */
export const tokenDigest = (secret: string): string => digest('sha256', secret);

/** Whether a row of sessions or tokens is the credential of the actor's request. */
export const isCurrent = ({ credential }: Actor, kind: Credential['kind']) => {
  const id = credential?.kind === kind ? credential.id : null;
  return condition`id is not distinct from ${id}::bigint`.as('is_current');
};

/**
 * SQL: the actor's rows of sessions or tokens that the credential may see. A credential that is confined to a client sees only rows with
 * the same confinement.
 */
export const isOfScope = ({ scope }: Actor, kind: Credential['kind']): Condition => {
  if (scope.only === null) return condition`true`;
  const began = sql`connection_id in (select id from sso_connections where client_id = ${scope.only})`;
  return kind === 'session' ? condition`${began}` : condition`(client_id = ${scope.only} or ${began})`;
};

/** SQL: the connection by which a credential began; null for others. Credentials that it creates have the same connection. */
export const connectionOf = (credential: Credential | null): RawBuilder<number | null> =>
  credential === null
    ? sql`null::int`
    : sql`(select connection_id from ${sql.table(CREDENTIAL_TABLES[credential.kind])} where id = ${credential.id})`;

/**
 * Adds a token, and deletes the oldest logins of the user beyond the limit. Returns its id, and the second factors that the user now has
 * and needs.
 */
export const addToken = async (
  { origin, staffSecondFactor }: Pick<UnitOfWork, 'origin' | 'staffSecondFactor'>,
  tx: Em,
  {
    userId,
    token,
    now,
    authenticatedAt,
    name = '',
    madeBy = null,
    limits = UNLIMITED,
    createdBy = null,
  }: NewToken,
) => {
  const { id } = await kysely(tx)
    .insertInto('api_tokens')
    .values({
      user_id: userId,
      digest: tokenDigest(token),
      name,
      created_at: now,
      last_used: now,
      last_address: origin.address ?? '',
      authenticated_at: authenticatedAt,
      connection_id: connectionOf(madeBy),
      created_by: createdBy,
      ...limits,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const older = sql`
    delete from api_tokens where id in (
      select id from api_tokens where user_id = ${userId} and name = '' and replacement is null
      order by created_at desc, id desc offset ${LOGINS_PER_USER})`;
  return { id, state: await pruneAndCheck(tx, userId, older, staffSecondFactor) };
};

/** Deletes rows of a user, and reads in the same statement which second factors the user has and needs. This saves a round trip. */
const pruneAndCheck = (
  tx: Em,
  userId: number,
  deletion: RawBuilder<unknown>,
  staffPolicy: StaffPolicy,
): Promise<FactorState> =>
  kysely(tx)
    .with('pruned', () => sql`(${deletion})`)
    .selectFrom('users')
    .select(factorState(staffPolicy))
    .where('id', '=', userId)
    .executeTakeFirstOrThrow();

/** Like `addToken`, for a session. */
export const addSession = async (
  { origin, sessionMaxDays, staffSecondFactor }: UnitOfWork,
  tx: Em,
  { userId, secret, now, userAgent, methods, provider, authenticatedAt }: NewSession,
) => {
  const { id } = await kysely(tx)
    .insertInto('sessions')
    .values({
      user_id: userId,
      digest: tokenDigest(secret),
      created_at: now,
      last_used: now,
      authenticated_at: authenticatedAt,
      methods: [...methods],
      last_address: origin.address ?? '',
      user_agent: toPrintable(userAgent).slice(0, MAX_USER_AGENT_LENGTH),
      connection_id: provider?.connectionId ?? null,
      sid: provider?.sid ?? null,
      expires_at: new Date(now.getTime() + sessionMaxDays * DAY_MS),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const older = sql`
    delete from sessions where id in (
      select id from sessions where user_id = ${userId}
      order by created_at desc, id desc offset ${LOGINS_PER_USER})`;
  return { id, state: await pruneAndCheck(tx, userId, older, staffSecondFactor) };
};

/**
 * Gives a session a new secret, and returns it. Others who know the old secret are logged out.
 * @throws Problem `unauthenticated` if the session was revoked
 */
export const renewSession = async (tx: Em, id: number): Promise<string> => {
  const secret = newSecret();
  const renewed = kysely(tx)
    .updateTable('sessions')
    .set({ digest: tokenDigest(secret) });
  const { numUpdatedRows } = await renewed.where('id', '=', id).executeTakeFirst();
  if (numUpdatedRows === 0n) throw new Problem('unauthenticated');
  return secret;
};

/**
 * Records in a session what the locked user has proven. A session that becomes stronger gets a new secret.
 * @returns the new secret, or null
 * @throws Problem `unauthenticated` if the session was revoked
 */
export const recordProof = async (
  tx: Em,
  id: number,
  methods: readonly AuthMethod[],
): Promise<string | null> => {
  const sessions = kysely(tx).selectFrom('sessions').select('methods').where('id', '=', id).forUpdate();
  const session = await sessions.executeTakeFirst();
  if (!session) throw new Problem('unauthenticated');
  const proven = addMethods(session.methods, methods);
  await kysely(tx).updateTable('sessions').set({ methods: proven }).where('id', '=', id).execute();
  return strengthOf(proven) > strengthOf(session.methods) ? renewSession(tx, id) : null;
};

/**
 * For a locked user who has become staff: ends the sessions that have proven less than the setting requires, and the tokens from logins,
 * whose proof is unknown. Named tokens stay valid, as at logins.
 */
export const endWeakerLogins = async (tx: Em, userId: number, staffPolicy: StaffPolicy): Promise<void> => {
  const needed = STRENGTH_OF_POLICY[staffPolicy];
  if (needed === 0) return;
  const db = kysely(tx);
  const own = db.selectFrom('sessions').select(['id', 'methods']).where('user_id', '=', userId);
  const sessions = await own.execute();
  const weaker = sessions.filter(({ methods }) => strengthOf(methods) < needed).map(({ id }) => id);
  await db
    .deleteFrom('sessions')
    .where(isAnyOf('id', weaker, 'bigint'))
    .execute();
  await db.deleteFrom('api_tokens').where('user_id', '=', userId).where('name', '=', '').execute();
};

type NewPassword = { userId: number; hash: string; now: Date; kept?: Credential | null };

/**
 * Sets a password and revokes all credentials of the user except `kept`. Uses Kysely, which binds the value: MikroORM would put the hash
 * into the text of its statement, and so into logs.
 */
export const setPassword = async (tx: Em, { userId, hash, now, kept = null }: NewPassword) => {
  await kysely(tx)
    .updateTable('users')
    .set({ password_hash: hash, last_password_set: now })
    .where('id', '=', userId)
    .execute();
  await revokeCredentials(tx, userId, kept);
};

/** Headers are Latin-1 and may contain any byte. */
const toPrintable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?');
