import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import { clientIdsOf, tables } from '../../db/kysely.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import { setPassword } from '../auth/credentials.ts';
import { parsePasswordToken, type SignedLinks } from '../auth/signed-links.ts';
import { enqueuePasswordNotice } from '../mail/enqueue-mails.ts';
import {
  createWindowCounter,
  hashKey,
  networkOf,
  secondsLeft,
  type WindowCount,
} from '../rate-limits/window-counter.ts';
import type { Unit } from '../unit.ts';
import { lockActiveUser } from '../users/user-locks.ts';
import { type PasswordPolicy, readPolicyOfUser } from './password-policy.ts';
import { rejectWeakPassword } from './password-rules.ts';

/** Minutes for which the link to reset a password is valid. */
export const RESET_LINK_MINUTES = 60;

type Deps = Pick<
  Unit,
  'em' | 'clock' | 'hasher' | 'commonPasswords' | 'throttle' | 'resetThrottle' | 'links' | 'audit' | 'origin'
>;

/** Sets passwords through mailed links: forgotten ones, and the first one of a new user. */
export const createPasswordResets = (deps: Deps) => {
  const { em, clock, hasher, commonPasswords, throttle, resetThrottle, links, audit, origin } = deps;
  return {
    /**
     * Enqueues a mail to the address as given. The mail worker looks up the account and discards the mail if there is
     * none; no lookup happens here, so neither the response nor its timing reveals whether the account exists.
     * @throws Problem `throttled`
     */
    request: async (email: string): Promise<void> => {
      await resetThrottle.consume(email, origin.address ?? '');
      await em.transactional(async (tx) => {
        const now = clock.now();
        await tables(tx)
          .insertInto('outbox_mails')
          .values({ kind: 'password-reset', recipient: email, created_at: now, next_attempt_at: now })
          .execute();
        await audit.record(tx, [{ action: 'password.request-reset', actor: null, target: email }]);
      });
    },

    /**
     * Returns the address whose password the link sets, and the policy that applies.
     * @throws Problem `invalid-link`
     */
    verifyToken: async (token: string): Promise<{ email: string; policy: PasswordPolicy }> => {
      const { email, userId } = await findPasswordLink(em, links, token, clock.now());
      return { email, policy: await readPolicyOfUser(em, userId) };
    },

    /**
     * Sets the password and revokes all credentials of the user. After a weak password the link stays valid.
     * @throws Problem `invalid-link`, `invalid-input` on `password`, `overloaded`
     */
    reset: async (token: string, password: string): Promise<void> => {
      const link = await findPasswordLink(em, links, token, clock.now());
      rejectWeakPassword(await readPolicyOfUser(em, link.userId), password, link, commonPasswords);
      const hash = await hasher.hash(password);
      await em.transactional(async (tx) => {
        // Locks the user before the link, in the same order as deactivation.
        const isActive = await lockActiveUser(tx, link.userId);
        if (!isActive || !(await consumePasswordLink(tx, link.id))) throw new Problem('invalid-link');
        const now = clock.now();
        await enqueuePasswordNotice(tx, { userId: link.userId, now, address: origin.address });
        await setPassword(tx, { userId: link.userId, hash, now });
        const clients = await clientIdsOf(tx, link.userId);
        await audit.record(tx, [{ action: 'password.reset', actor: link, target: link.email, clients }]);
      });
      await throttle.clear(link.email);
    },
  };
};

/**
 * Returns the link of this token and its user.
 * @throws Problem `invalid-link` if it is forged, used, replaced or expired, or the user is inactive
 */
const findPasswordLink = async (em: SqlEntityManager, links: SignedLinks, token: string, now: Date) => {
  const parsed = parsePasswordToken(token);
  const row = parsed && (await linkRow(em, parsed.id, now));
  if (!row) throw new Problem('invalid-link');
  const link = { id: row.id, userId: row.user_id, createdAt: row.created_at };
  if (!links.isPasswordLinkSigned(link, parsed.signature)) throw new Problem('invalid-link');
  return { ...link, email: row.email, firstName: row.first_name, lastName: row.last_name };
};

/** Returns true for only one of several concurrent uses. */
const consumePasswordLink = async (tx: SqlEntityManager, id: number): Promise<boolean> => {
  const used = await tables(tx).deleteFrom('password_links').where('id', '=', id).executeTakeFirst();
  return used.numDeletedRows > 0n;
};

const linkRow = (em: SqlEntityManager, id: number, now: Date) =>
  tables(em)
    .selectFrom('password_links')
    .innerJoin('users', 'users.id', 'password_links.user_id')
    .select(['password_links.id', 'password_links.user_id', 'password_links.created_at'])
    .select(['users.email', 'users.first_name', 'users.last_name'])
    .where('password_links.id', '=', id)
    .where('password_links.expires_at', '>', now)
    .where('users.is_active', '=', true)
    .executeTakeFirst();

/** Enough for a user who looks in the wrong mailbox, too few to flood the owner of the address. */
const REQUESTS_PER_ACCOUNT = 5;
const REQUESTS_PER_NETWORK = 50;

export type ResetThrottle = ReturnType<typeof createResetThrottle>;

/** Limits the mails that anonymous callers can trigger. Counted in the database, shared by all instances. */
export const createResetThrottle = (pool: Pool) => {
  const accounts = createWindowCounter(pool, { keyPrefix: 'reset-account', windowMs: HOUR_MS });
  const networks = createWindowCounter(pool, { keyPrefix: 'reset-network', windowMs: HOUR_MS });

  return {
    /**
     * Counts a request, whether or not the account exists.
     * @throws Problem `throttled`
     */
    consume: async (email: string, address: string): Promise<void> => {
      // The network first: beyond its limit, requests must not use up the limits of accounts.
      rejectBeyond(REQUESTS_PER_NETWORK, await networks.add(networkOf(address)));
      rejectBeyond(REQUESTS_PER_ACCOUNT, await accounts.add(hashKey(email)));
    },
  };
};

const rejectBeyond = (limit: number, count: WindowCount): void => {
  if (count.points > limit) throw new Problem('throttled', { retryAfterSeconds: secondsLeft(count) });
};
