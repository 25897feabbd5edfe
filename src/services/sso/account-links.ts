import type { Em } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { outcomeOfLogin, reportLogin } from '../auth/login-opening.ts';
import { type AuthMethod, addMethods, BY_PASSWORD } from '../auth/methods.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { openConnection } from './connections.ts';
import { SsoFailure } from './failures.ts';
import { type Decision, decideLogin } from './login-decision.ts';
import { findLink, takePending } from './pending-logins.ts';
import { admitPerson, lockAndDecide, openSession } from './people.ts';

type Link = {
  state: string;
  browser: string | null;
  password: string;
  code: string | undefined;
  userAgent: string;
};

/** Links accounts that existed before to the identities with which their people log in, once they have entered their password. */
export const createAccountLinks = (unit: UnitOfWork) => {
  const { em, clock, audit, passwordVerification, factorProofs } = unit;

  /** @throws SsoFailure */
  const openLink = async (state: string, browser: string | null) => {
    const link = await findLink(em, { state, browser, now: clock.now() });
    const { connection } = await openConnection(unit, link.connection_id);
    const decision = await decideLogin(em, connection, link.held.stated, clock.now());
    // The account was linked, or its access ended, since.
    if (decision.kind !== 'link') throw new SsoFailure('state-expired');
    return { ...link.held, next: link.next, connection, user: decision.user };
  };

  return {
    /**
     * What the page shows that asks for the password of an account to be linked.
     * @throws SsoFailure
     */
    readLink: async (state: string, browser: string | null) => {
      const { user, connection, next } = await openLink(state, browser);
      return { email: user.email, hasSecondFactor: user.hasSecondFactor, name: connection.name, next };
    },

    /**
     * Links an account to the identity with which the person has come back, after they have shown that it is theirs.
     * @throws SsoFailure, Problem `invalid-credentials`, `otp-required`, `invalid-otp`, `throttled`, `overloaded`
     */
    link: async ({ state, browser, password, code, userAgent }: Link) => {
      const { stated, proof, connection, user, next } = await openLink(state, browser);
      const verified = await passwordVerification.verify(user.email, password, 'login');
      const isUnchanged = (found: Decision): boolean =>
        found.kind === 'link' &&
        found.user.id === verified.id &&
        found.user.lastPasswordSet.getTime() === verified.lastPasswordSet.getTime();
      const link = (consume?: (tx: Em) => Promise<readonly AuthMethod[]>) =>
        em.transactional(async (tx) => {
          const now = clock.now();
          const decision = await lockAndDecide({ tx, now }, connection, stated);
          if (!isUnchanged(decision)) throw new SsoFailure('state-expired');
          await takePending(tx, { state, browser, isLink: true, now });
          // It may have been added since the password was verified.
          const hasSecondFactor = 'user' in decision && decision.user.hasSecondFactor;
          if (hasSecondFactor && !consume) throw new Problem('otp-required');
          const entered = consume ? addMethods(BY_PASSWORD, await consume(tx)) : BY_PASSWORD;
          const person = await admitPerson({ tx, audit, now }, connection, stated, decision, true);
          const entry = { connection, proof, hasConfirmed: true, userAgent };
          return openSession(unit, tx, person, entry, entered);
        });
      const hasFactor = verified.factors.enrolled > 0;
      if (hasFactor && code === undefined) throw new Problem('otp-required');
      const result = await (hasFactor && code !== undefined
        ? factorProofs.verify(verified, 'login', { code }, link)
        : link());
      reportLogin(outcomeOfLogin(result));
      return { ...result, next };
    },
  };
};
