import { hash } from 'node:crypto';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { type Clock, DAY_MS, MINUTE_MS } from '../../lib/clock.ts';
import type { Actor, Credential } from '../access/actor.ts';
import type { Origin } from '../audit/audit.ts';
import { activeUsers, type CredentialLookup } from './credential-lookup.ts';

/** Days without use after which a session ends. */
export const SESSION_IDLE_DAYS = 14;

const TOKEN_FORM = /^[0-9a-f]{40}$/;
const SESSION_FORM = /^[\w-]{43}$/;

type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  origin: Origin;
  tokenIdleDays: number;
  lookUpCredential: CredentialLookup;
};

/** What is kept of a token or session: its SHA-256, which no look-up table of such long secrets can undo. */
export const tokenDigest = (secret: string): string => hash('sha256', secret);

/** Who presents a credential. Null when it is unknown, idle for too long, or its owner is inactive. */
export const createIdentity = ({ em, clock, origin, tokenIdleDays, lookUpCredential }: Deps) => {
  const actorBy = async (kind: Credential['kind'], secret: string, idleDays: number) => {
    const row = await lookUpCredential(em, kind, tokenDigest(secret));
    if (!row) return null;
    const idleMs = clock.now().getTime() - row.last_used.getTime();
    if (idleDays > 0 && idleMs > idleDays * DAY_MS) return null;

    const via = { kind, id: row.credential_id, authenticatedAt: row.authenticated_at };
    if (idleMs > MINUTE_MS) await touch(em, via, clock.now(), origin.address ?? '');
    return toActor(row, via);
  };

  return {
    findByToken: async (token: string): Promise<Actor | null> =>
      TOKEN_FORM.test(token) ? actorBy('token', token, tokenIdleDays) : null,

    findBySession: async (secret: string): Promise<Actor | null> =>
      SESSION_FORM.test(secret) ? actorBy('session', secret, SESSION_IDLE_DAYS) : null,

    /** Whether the owner of this token or session could see all users when this process last looked it up. */
    couldViewAll: (secret: string): boolean => lookUpCredential.sawAllLastTime(tokenDigest(secret)),
  };
};

type ActorRow = { id: number; email: string; is_superuser: boolean; is_staff: boolean; admin_of: number[] };

const toActor = (row: ActorRow, via: Credential | null): Actor => ({
  id: row.id,
  email: row.email,
  isSuperuser: row.is_superuser,
  isStaff: row.is_staff,
  adminOf: row.admin_of,
  credential: via,
});

/** In whose name an operator acts: an active user, or the first active superuser. Null when there is none. */
export const findActorByEmail = async (
  em: SqlEntityManager,
  email: string | undefined,
): Promise<Actor | null> => {
  const row = await (email === undefined
    ? activeUsers(tables(em)).where('users.is_superuser', '=', true).orderBy('users.id').limit(1)
    : activeUsers(tables(em)).where('users.email', '=', email)
  ).executeTakeFirst();
  return row ? toActor(row, null) : null;
};

/** The actor as they are now; null once they, or the login that they came with, are no more. */
export const reloadActor = async (
  em: SqlEntityManager,
  { id, credential: via }: Actor,
): Promise<Actor | null> => {
  const user = activeUsers(tables(em)).where('users.id', '=', id);
  const login =
    via &&
    sql<boolean>`exists (
    select from ${sql.table(via.kind === 'token' ? 'api_tokens' : 'sessions')} where id = ${via.id})`;
  const row = await (login ? user.where(login) : user).executeTakeFirst();
  return row ? toActor(row, via) : null;
};

/** Written at most once a minute, or every read would be a write. */
const touch = (em: SqlEntityManager, { kind, id }: Credential, now: Date, address: string) =>
  sql`update ${sql.table(kind === 'token' ? 'api_tokens' : 'sessions')}
    set last_used = ${now}::timestamptz, last_address = ${address}
    where id = ${id} and last_used < ${new Date(now.getTime() - MINUTE_MS)}::timestamptz`.execute(tables(em));
