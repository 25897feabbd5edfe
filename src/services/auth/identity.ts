import { sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS, MINUTE_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor, Credential } from '../access/actor.ts';
import { lockAccess } from '../access/locks.ts';
import { canAllOf } from '../access/permissions.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { activeUsers } from './credential-lookup.ts';
import { CREDENTIAL_TABLES, tokenDigest } from './credentials.ts';
import { SESSION_IDLE_DAYS } from './sessions.ts';

const TOKEN_PATTERN = /^[0-9a-f]{40}$/;
const SESSION_PATTERN = /^[\w-]{43}$/;

/** Authenticates credentials. Returns null if one is unknown or idle for too long, or its owner is inactive. */
export const createIdentity = ({ em, clock, origin, tokenIdleDays, lookUpCredential }: UnitOfWork) => {
  const findValid = async (kind: Credential['kind'], secret: string, idleDays: number) => {
    const row = await lookUpCredential(em, kind, tokenDigest(secret));
    if (!row) return null;
    const idleMs = clock.now().getTime() - row.last_used.getTime();
    return idleDays > 0 && idleMs > idleDays * DAY_MS ? null : { row, idleMs };
  };

  const authenticate = async (kind: Credential['kind'], secret: string, idleDays: number) => {
    const valid = await findValid(kind, secret, idleDays);
    if (!valid) return null;
    const { row, idleMs } = valid;
    const credential = { kind, id: row.credential_id, authenticatedAt: row.authenticated_at };
    if (idleMs > MINUTE_MS) await touch(em, credential, clock.now(), origin.address ?? '');
    return toActor(row, credential);
  };

  return {
    findByToken: async (token: string): Promise<Actor | null> =>
      TOKEN_PATTERN.test(token) ? authenticate('token', token, tokenIdleDays) : null,

    /** Whether `findByToken` would find its owner. Does not count as a use. */
    isValidToken: async (token: string): Promise<boolean> =>
      TOKEN_PATTERN.test(token) && (await findValid('token', token, tokenIdleDays)) !== null,

    findBySession: async (secret: string): Promise<Actor | null> =>
      SESSION_PATTERN.test(secret) ? authenticate('session', secret, SESSION_IDLE_DAYS) : null,
  };
};

const toActor = (
  { id, email, isSuperuser, isStaff, adminOf }: Omit<Actor, 'credential'>,
  credential: Credential | null,
): Actor => ({ id, email, isSuperuser, isStaff, adminOf, credential });

/** Finds the active user that an operator acts as; without an address, the first active superuser. */
export const findActorByEmail = async (em: Em, email: string | undefined) => {
  const row = await (email === undefined
    ? activeUsers(em).where('users.is_superuser', '=', true).orderBy('users.id').limit(1)
    : activeUsers(em).where('users.email', '=', email)
  ).executeTakeFirst();
  return row ? toActor(row, null) : null;
};

/** Reads the actor's current roles. Null if the user or the credential is no longer valid. */
export const reloadActor = async (em: Em, { id, credential }: Actor): Promise<Actor | null> => {
  const user = activeUsers(em).where('users.id', '=', id);
  const exists = credential
    ? condition`exists (select from ${CREDENTIAL_TABLES[credential.kind]} where id = ${credential.id})`
    : condition`true`;
  const row = await user.where(exists).executeTakeFirst();
  return row ? toActor(row, credential) : null;
};

/**
 * Reads the actor again at the end of a transaction, and keeps their access until it commits: they may have been deactivated,
 * lost a role or had their token or session revoked while their request was under way.
 * @throws Problem `unauthenticated`, `role-lost`
 */
export const confirmActor = async (tx: Em, actor: Actor): Promise<void> => {
  await lockAccess(tx, actor.id);
  const current = await reloadActor(tx, actor);
  if (!current) throw new Problem('unauthenticated');
  if (!canAllOf(current, actor)) throw new Problem('role-lost');
};

/** Updates the last use at most once a minute, or every read would cause a write. */
const touch = (em: Em, { kind, id }: Credential, now: Date, address: string) =>
  sql`update ${CREDENTIAL_TABLES[kind]}
    set last_used = ${now}::timestamptz, last_address = ${address}
    where id = ${id} and last_used < ${new Date(now.getTime() - MINUTE_MS)}::timestamptz`.execute(kysely(em));
