import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { CommonPasswords } from '../../adapters/hashing/common-passwords.ts';
import type { PasswordHasher } from '../../adapters/hashing/password-hasher.ts';
import { clientIdsOf, tables } from '../../db/kysely.ts';
import type { Clock } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import type { Audit, Origin } from '../audit/audit.ts';
import type { LoginThrottle } from '../auth/login-throttle.ts';
import type { ResetThrottle } from '../auth/reset-throttle.ts';
import type { SignedLinks } from '../auth/signed-links.ts';
import { enqueuePasswordNotice } from '../mail/password-notices.ts';
import { lockActiveUser } from '../users/user-locks.ts';
import { consumePasswordLink, openPasswordLink } from './password-links.ts';
import { type PasswordPolicy, refuseWeak } from './password-policy.ts';
import { policyOfUser, setPassword } from './password-setting.ts';

type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  hasher: PasswordHasher;
  commonPasswords: CommonPasswords;
  throttle: LoginThrottle;
  resetThrottle: ResetThrottle;
  links: SignedLinks;
  audit: Audit;
  origin: Origin;
};

/** Setting a password by a link in a mail: forgotten ones, and the first one of a new user. */
export const createPasswordResets = (deps: Deps) => {
  const { em, clock, hasher, commonPasswords, throttle, resetThrottle, links, audit, origin } = deps;
  return {
    /**
     * Owes a mail to the address, if it keyedMutex out to be a user's. That is found out by whoever sends it: here
     * nobody looks, so that neither the answer nor its time can tell.
     * @throws Problem `throttled`
     */
    request: async (email: string): Promise<void> => {
      await resetThrottle.take(email, origin.address ?? '');
      await em.transactional(async (tx) => {
        const now = clock.now();
        await tables(tx)
          .insertInto('outbox_mails')
          .values({ kind: 'password-reset', recipient: email, created_at: now, next_attempt_at: now })
          .execute();
        await audit.record(tx, [{ action: 'password.request-reset', actor: null, target: email }]);
      });
    },

    /** Whose password the link would set, and what it has to meet. @throws Problem `invalid-link` */
    open: async (token: string): Promise<{ email: string; policy: PasswordPolicy }> => {
      const { email, userId } = await openPasswordLink(em, links, token, clock.now());
      return { email, policy: await policyOfUser(em, userId) };
    },

    /**
     * Sets the password, and ends all logins of the user. A weak password leaves the link as it is.
     * @throws Problem `invalid-link`, `invalid-input` on `password`, `overloaded`
     */
    reset: async (token: string, password: string): Promise<void> => {
      const link = await openPasswordLink(em, links, token, clock.now());
      await refuseWeak(await policyOfUser(em, link.userId), password, link, commonPasswords);
      const hash = await hasher.hash(password);
      await em.transactional(async (tx) => {
        // The user before the link, as whoever ends a user's access takes them.
        const isActive = await lockActiveUser(tx, link.userId);
        if (!isActive || !(await consumePasswordLink(tx, link.id))) throw new Problem('invalid-link');
        const now = clock.now();
        await enqueuePasswordNotice(tx, { userId: link.userId, now, address: origin.address });
        await setPassword(tx, { userId: link.userId, hash, now });
        const clients = await clientIdsOf(tx, link.userId);
        await audit.record(tx, [{ action: 'password.reset', actor: link, target: link.email, clients }]);
      });
      await throttle.forgive(link.email);
    },
  };
};
