import { createHash } from 'node:crypto';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { PasswordHasher } from '../adapters/password-hasher.ts';
import { type Clock, DAY_MS, MINUTE_MS } from '../core/clock.ts';
import { newToken } from '../core/ids.ts';
import { Problem } from '../core/problems.ts';
import type { Actor } from './actor.ts';
import type { LoginThrottle } from './login-throttle.ts';
import { tables } from './tables.ts';

const TOKENS_PER_USER = 50;
const TOKEN_FORM = /^[0-9a-f]{40}$/;

type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  hasher: PasswordHasher;
  throttle: LoginThrottle;
  tokenIdleDays: number;
};

/** What is kept of a token: its SHA-256, which no look-up table of 160-bit secrets can undo. */
export const tokenDigest = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Logins by password, and the tokens they give. */
export const createIdentity = ({ em, clock, hasher, throttle, tokenIdleDays }: Deps) => ({
  /**
   * Exchanges a password for a new token of 40 hexadecimal characters. Unknown, inactive and wrong all take
   * the same time and answer the same.
   * @throws Problem `bad-credentials`, `throttled`, `overloaded`
   */
  login: async (username: string, password: string, address: string): Promise<string> => {
    const email = username.trim().toLowerCase();
    await throttle.refuse(email, address);
    const user = await credentialsOf(em, email);

    const verified = await hasher.verify(user?.password_hash ?? null, password);
    if (!verified || !user?.is_active) return failLogin(throttle, email, address);
    await throttle.recordSuccess(email, address);

    if (user.password_hash && hasher.isOutdated(user.password_hash)) {
      await replaceHash(em, user.id, user.password_hash, await hasher.hash(password));
    }
    const token = newToken();
    const granted = await em.transactional((tx) => addToken(tx, user.id, token, clock.now()));
    return granted ? token : failLogin(throttle, email, address);
  },

  /** The owner of a token, or null when it is unknown, idle for too long, or its owner is inactive. */
  actorOf: async (token: string): Promise<Actor | null> => {
    if (!TOKEN_FORM.test(token)) return null;
    const row = await ownerOf(em, tokenDigest(token));
    if (!row) return null;

    const idleMs = clock.now().getTime() - row.last_used.getTime();
    if (tokenIdleDays > 0 && idleMs > tokenIdleDays * DAY_MS) return null;
    if (idleMs > MINUTE_MS) await touch(em, row.token_id, clock.now());
    const { id, email, is_superuser: isSuperuser, is_staff: isStaff, admin_of: adminOf } = row;
    return { id, email, isSuperuser, isStaff, adminOf };
  },
});

const failLogin = async (throttle: LoginThrottle, email: string, address: string): Promise<never> => {
  await throttle.recordFailure(email, address);
  throw new Problem('bad-credentials');
};

/** A username is any text: PostgreSQL must not be asked for one that it cannot hold. */
const credentialsOf = async (em: SqlEntityManager, email: string) =>
  email.includes('\0') || !email.isWellFormed()
    ? undefined
    : tables(em)
        .selectFrom('users')
        .select(['id', 'is_active', 'password_hash'])
        .where('email', '=', email)
        .executeTakeFirst();

/** Only where the hash is still the one that was verified: a password changed meanwhile must win. */
const replaceHash = (em: SqlEntityManager, userId: number, verified: string, renewed: string) =>
  tables(em)
    .updateTable('users')
    .set({ password_hash: renewed })
    .where('id', '=', userId)
    .where('password_hash', '=', verified)
    .execute();

/**
 * The update of the user comes first: it waits for a deactivation under way and then sees it, so that no token
 * outlives one. It also makes parallel logins of one user take turns in dropping the oldest tokens.
 */
const addToken = async (tx: SqlEntityManager, userId: number, token: string, now: Date): Promise<boolean> => {
  const updated = await tables(tx)
    .updateTable('users')
    .set({ last_login: now })
    .where('id', '=', userId)
    .where('is_active', '=', true)
    .executeTakeFirst();
  if (updated.numUpdatedRows === 0n) return false;

  await tables(tx)
    .insertInto('api_tokens')
    .values({ user_id: userId, digest: tokenDigest(token), created_at: now, last_used: now })
    .execute();
  await sql`delete from api_tokens where id in (
      select id from api_tokens where user_id = ${userId}
      order by created_at desc, id desc offset ${TOKENS_PER_USER})`.execute(tables(tx));
  return true;
};

const ownerOf = (em: SqlEntityManager, digest: string) =>
  tables(em)
    .selectFrom('api_tokens')
    .innerJoin('users', 'users.id', 'api_tokens.user_id')
    .select(['users.id', 'users.email', 'users.is_superuser', 'users.is_staff', 'api_tokens.last_used'])
    .select('api_tokens.id as token_id')
    .select(
      sql<number[]>`array(select client_id from memberships m
        where m.user_id = users.id and m.is_admin order by client_id)`.as('admin_of'),
    )
    .where('api_tokens.digest', '=', digest)
    .where('users.is_active', '=', true)
    .executeTakeFirst();

/** Written at most once a minute, or every read would be a write. */
const touch = (em: SqlEntityManager, tokenId: number, now: Date) =>
  tables(em)
    .updateTable('api_tokens')
    .set({ last_used: now })
    .where('id', '=', tokenId)
    .where('last_used', '<', new Date(now.getTime() - MINUTE_MS))
    .execute();
