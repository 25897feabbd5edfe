import { type InferResult, sql } from 'kysely';
import type { Read } from '../../db/batched-reads.ts';
import { compileOnce, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { createBatchLoader } from '../../lib/batch-loader.ts';
import { type Clock, DAY_MS, MINUTE_MS } from '../../lib/clock.ts';
import { isSecret, isToken } from '../../lib/ids.ts';
import { isInNetworks } from '../../lib/ip-networks.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor, Credential } from '../access/actor.ts';
import { lockAccess } from '../access/locks.ts';
import { canAllOf, namedRoles, type Roles } from '../access/permissions.ts';
import { narrow, type Scope, scopeColumns } from '../access/scope.ts';
import { ROLE_COLUMNS } from '../access/visibility.ts';
import { CREDENTIAL_TABLES } from '../accounts/access-ends.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { isTokenUnexpired, tokenDigest } from './credentials.ts';
import { isUnexpired, isUsed, SESSION_IDLE_DAYS } from './sessions.ts';

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'origin' | 'tokenIdleDays' | 'lookUpCredential'>;

export type Authentication = ReturnType<typeof createAuthentication>;

/**
 * Authenticates credentials. Returns null if one is unknown, was idle for too long or is sent from a network that it does not list, or if its
 * owner is inactive.
 */
export const createAuthentication = ({ em, clock, origin, tokenIdleDays, lookUpCredential }: Deps) => {
  const findValid = async (kind: Credential['kind'], secret: string, idleDays: number) => {
    const row = await lookUpCredential(em, kind, tokenDigest(secret));
    if (!row) return null;
    if (row.networks !== null && !isInNetworks(origin.address ?? '', row.networks)) return null;
    const idleMs = clock.now().getTime() - row.last_used.getTime();
    return idleDays > 0 && idleMs > idleDays * DAY_MS ? null : { row, idleMs };
  };

  /** The owner of a valid credential. Records its last use. */
  const findOwner = async (kind: Credential['kind'], secret: string, idleDays: number) => {
    const valid = await findValid(kind, secret, idleDays);
    if (!valid) return null;
    const { owner, credential } = split(valid.row);
    if (valid.idleMs > MINUTE_MS) await touch(em, credential, clock.now(), origin.address ?? '');
    return actorOf(owner, credential);
  };

  return {
    findByToken: async (token: string): Promise<Actor | null> =>
      isToken(token) ? findOwner('token', token, tokenIdleDays) : null,

    /** Whether `findByToken` would find its owner. Does not count as a use. */
    isValidToken: async (token: string): Promise<boolean> =>
      isToken(token) && (await findValid('token', token, tokenIdleDays)) !== null,

    findBySession: async (secret: string): Promise<Actor | null> =>
      isSecret(secret) ? findOwner('session', secret, SESSION_IDLE_DAYS) : null,
  };
};

/**
 * Finds the active owner of a token or session by its digest. Every request does this, so lookups in the same
 * event-loop tick share a statement.
 */
export const createCredentialLookup = (em: Em, read: Read, clock: Clock) => {
  const loadOwners = (kind: Credential['kind']) => {
    const owners = compileOnce(OWNERS[kind](em, clock.now(), []));
    return async (digests: readonly string[]) => {
      const rows = await read(owners(clock.now(), digests));
      return new Map(rows.map((owner) => [owner.digest, owner]));
    };
  };
  const loaders = {
    token: createBatchLoader(loadOwners('token')),
    session: createBatchLoader(loadOwners('session')),
  };
  return async (unit: Em, kind: Credential['kind'], digest: string) => {
    // A transaction must see its own uncommitted changes.
    const owner = await (unit.isInTransaction()
      ? OWNERS[kind](unit, clock.now(), [digest]).executeTakeFirst()
      : loaders[kind](digest));
    return owner && withService(unit, owner);
  };
};

const usersWithRoles = (em: Em) =>
  kysely(em).selectFrom('users').select(['users.id', 'users.email', 'users.is_active']).select(ROLE_COLUMNS);

const activeUsers = (em: Em) => usersWithRoles(em).where('users.is_active', '=', true);

/** Tokens, even of inactive users: `withService` decides about these. */
const tokenOwners = (em: Em) =>
  usersWithRoles(em)
    .innerJoin('api_tokens', 'api_tokens.user_id', 'users.id')
    .select(scopeColumns('api_tokens'));

/** Adds the service account to an owner. Its row of `users` is inactive, so that requests of people need not look for one. */
const withService = async <Owner extends { id: number; is_active: boolean }>(em: Em, owner: Owner) => {
  if (owner.is_active) return { ...owner, service: null };
  const service = await kysely(em)
    .selectFrom('service_accounts')
    .select(['roles', 'client_id', 'scopes'])
    .where('user_id', '=', owner.id)
    .where('is_active', '=', true)
    .executeTakeFirst();
  return service && { ...owner, service };
};

/** Sessions of active users, with their owners. */
const sessionOwners = (em: Em, now: Date) =>
  activeUsers(em)
    .innerJoin('sessions', 'sessions.user_id', 'users.id')
    .select(scopeColumns('sessions'))
    .select(['sessions.id as credential_id', 'sessions.last_used', 'sessions.digest'])
    .select(({ cast, lit }) => cast<string[] | null>(lit(null), sql`text[]`).as('networks'))
    .select(['sessions.authenticated_at', 'sessions.methods'])
    .select(({ fn }) =>
      fn<Date>('greatest', ['sessions.authenticated_at', 'sessions.created_at']).as('auth_time'),
    )
    .where(isUnexpired(now));

const OWNERS = {
  token: (em: Em, now: Date, digests: readonly string[]) =>
    tokenOwners(em)
      .select(['api_tokens.id as credential_id', 'api_tokens.last_used', 'api_tokens.digest'])
      .select('api_tokens.networks')
      .select(({ cast, lit }) => [
        'api_tokens.authenticated_at',
        cast<string[] | null>(lit(null), sql`text[]`).as('methods'),
        cast<Date | null>(lit(null), 'timestamptz').as('auth_time'),
      ])
      .where(isAnyOf('api_tokens.digest', digests, 'varchar'))
      .where(isTokenUnexpired(now)),
  session: (em: Em, now: Date, digests: readonly string[]) =>
    sessionOwners(em, now).where(isAnyOf('sessions.digest', digests, 'varchar')),
};

type OwnerRow = InferResult<ReturnType<(typeof OWNERS)['token' | 'session']>>[number] &
  Pick<Owner, 'service'>;

/** The owner of a credential, and the credential. */
const split = ({ digest: _, last_used: __, networks: ___, ...row }: OwnerRow) => {
  const {
    credential_id: id,
    authenticated_at: authenticatedAt,
    methods,
    auth_time: authTime,
    ...owner
  } = row;
  // Only a row of a session has the methods of its login.
  const credential: Credential =
    authenticatedAt && methods && authTime
      ? { kind: 'session', id, authenticatedAt, proof: { methods, authTime } }
      : { kind: 'token', id, authenticatedAt };
  return { owner, credential };
};

/** The active owner of a session that has not ended, for actions that outlast a request. Does not count as a use. */
export const readSessionActor = async (em: Em, sessionId: number, now: Date): Promise<Actor | null> => {
  const row = await sessionOwners(em, now)
    .where('sessions.id', '=', sessionId)
    .where(isUsed(now))
    .executeTakeFirst();
  if (!row) return null;
  const { owner, credential } = split({ ...row, service: null });
  return actorOf(owner, credential);
};

/** Reads the actor's current roles and scope. Null if the user or the credential is no longer valid. */
export const reloadActor = async (
  em: Em,
  { id, credential, scope }: Pick<Actor, 'id' | 'credential' | 'scope'>,
): Promise<Actor | null> => {
  const row = await currentOwner(em, id, credential).executeTakeFirst();
  const owner = row && (await withService(em, row));
  if (!owner) return null;
  const current = actorOf({ ...scope, ...owner }, credential);
  return credential?.kind === 'token' && !hasScopesOf(current.scope, scope) ? null : current;
};

/** Without a credential, the scope is the actor's. */
const currentOwner = (em: Em, id: number, credential: Credential | null) => {
  if (credential?.kind === 'token')
    return tokenOwners(em).where('users.id', '=', id).where('api_tokens.id', '=', credential.id);
  const user = usersWithRoles(em).where('users.id', '=', id);
  return credential
    ? user
        .innerJoin('sessions', 'sessions.user_id', 'users.id')
        .select(scopeColumns('sessions'))
        .where('sessions.id', '=', credential.id)
    : user;
};

/** Whether a scope still allows the actions of an earlier one. */
const hasScopesOf = (now: Scope, earlier: Scope): boolean =>
  now.actions === null || earlier.actions?.every((action) => now.actions?.includes(action)) === true;

type Owner = Roles &
  Scope & {
    id: number;
    email: string;
    is_active: boolean;
    service: { roles: string[]; client_id: number | null; scopes: string[] | null } | null;
  };

/** The owner of a credential, with the roles that count in its scope. */
const actorOf = (
  { id, email, only, hidden, actions, service, is_active: _, ...roles }: Owner,
  credential: Credential | null,
): Actor => {
  const scope = { only, hidden, actions: service ? inBoth(actions, service.scopes) : actions };
  const held = service ? namedRoles(service.roles, service.client_id) : roles;
  return { id, email, ...narrow(held, scope), credential, scope };
};

/** The scopes that both lists have; null: all. */
export const inBoth = (some: readonly string[] | null, others: readonly string[] | null) =>
  some && others ? some.filter((scope) => others.includes(scope)) : (some ?? others);

/**
 * Reads the actor again at the end of a transaction, and keeps their access unchanged until it commits: during the request, the user may
 * have been deactivated, have lost a role, or had the token or session revoked.
 * @throws Problem `unauthenticated`, `role-lost`
 */
export const confirmActor = async (tx: Em, actor: Actor): Promise<void> => {
  await lockAccess(tx, actor.id);
  const current = await reloadActor(tx, actor);
  if (!current) throw new Problem('unauthenticated');
  if (!canAllOf(current, actor)) throw new Problem('role-lost');
};

/** Updates the last use at most once a minute; otherwise every read would cause a write. */
const touch = (em: Em, { kind, id }: Credential, now: Date, address: string) =>
  kysely(em)
    .updateTable(CREDENTIAL_TABLES[kind])
    .set({ last_used: now, last_address: address })
    .where('id', '=', id)
    .where('last_used', '<', new Date(now.getTime() - MINUTE_MS))
    .execute();
