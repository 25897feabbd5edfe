import { LockMode } from '@mikro-orm/postgresql';
import { User } from '../../../entities/user.ts';
import type { Em } from '../../db/kysely.ts';
import { newSecret, newToken } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import { type Outcome, telemetry } from '../../lib/telemetry.ts';
import type { AuditAction } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { addSession, addToken } from './credentials.ts';
import type { CodeOwner } from './factor-codes.ts';
import type { FactorProof } from './factor-proofs.ts';
import { addChallenge, completeChallenge, findChallengeUser, takeAttempt } from './login-challenges.ts';
import { type AuthMethod, addMethods, BY_PASSWORD } from './methods.ts';
import { CopiedPasskey, type KnownPasskey, type PasskeyAnswer } from './passkeys.ts';
import type { PasswordEntry, VerifiedUser } from './password-verification.ts';
import { invalidPasskey } from './webauthn.ts';

/** Adds a token or a session. */
type Grant = (tx: Em, userId: number, now: Date) => Promise<{ hasSecondFactor: boolean }>;

type Exchange = {
  action: AuditAction;
  grant: Grant;
  hasFactor?: boolean;
  details?: Record<string, unknown>;
};

type Password = { username: string; password: string; entry: PasswordEntry };
/** `device`: the device cookie. */
type LoginBrowser = { userAgent: string; device: string | null };

const NEEDS_CODE_FOR_TOKEN = {
  detail:
    'This account has a second factor. Send a code of the authenticator app, or a recovery code, as `otp`. Scripts use a named token instead.',
};

/** Exchanges passwords, second factors and passkeys for tokens and sessions. */
export const createLogins = (unit: UnitOfWork) => {
  const { em, clock, passwordVerification, factorProofs, passkeys, audit, origin, sessionMaxDays } = unit;
  const { anonymousLimits } = unit;
  const address = origin.address ?? '';

  const reported = async <T>(login: Promise<T>, outcomeOf: (result: T) => Outcome): Promise<T> => {
    const [attempt] = await Promise.allSettled([login]);
    telemetry.login.publish(() => ({ outcome: outcomeOfAttempt(attempt, outcomeOf) }));
    if (attempt.status === 'rejected') throw attempt.reason;
    return attempt.value;
  };

  /** @throws Problem `invalid-credentials`, `password_expired`, `throttled`, `overloaded` */
  const verifyPassword = async ({ username, password, entry }: Password): Promise<VerifiedUser> => {
    const user = await passwordVerification.verify(username, password, entry);
    if (!user.isExpired) return user;
    const event = { actor: user, target: user.email, clients: user.clientIds };
    await audit.record(em, [{ action: 'login.expired', ...event }]);
    throw new Problem('password_expired');
  };

  /** @throws Problem `otp-required` if the user has added a second factor since the password was verified */
  const logIn = async (tx: Em, user: CodeOwner, exchange: Exchange) => {
    const { action, grant, hasFactor = false, details = {} } = exchange;
    const { hasSecondFactor } = await grant(tx, user.id, clock.now());
    if (hasSecondFactor && !hasFactor) throw new Problem('otp-required');
    await audit.record(tx, [{ action, actor: user, target: user.email, clients: user.clientIds, details }]);
  };

  /** Runs `work` in a transaction that holds the lock of the user, unless their password was changed since it was verified. */
  const whileVerified = async <T>(
    user: VerifiedUser,
    lock: typeof recordLogin,
    work: (tx: Em) => Promise<T>,
  ): Promise<T> => {
    const done = await em.transactional(async (tx) =>
      (await lock(tx, user, clock.now())) ? { result: await work(tx) } : null,
    );
    return done ? done.result : passwordVerification.failAfterVerification(user);
  };

  const sessionGrant =
    (secret: string, userAgent: string, methods: readonly AuthMethod[]): Grant =>
    (tx, userId, now) =>
      addSession(tx, { userId, secret, now, address, userAgent, methods, maxDays: sessionMaxDays });

  /** Counts for the network alone: signatures cannot be guessed, and the ids of passkeys are no secrets that should lock accounts. */
  const recordPasskeyFailure = async (passkey: KnownPasskey | undefined, { cause }: Problem) => {
    const event = { actor: null, target: passkey?.email ?? '', clients: passkey?.clientIds ?? [] };
    await audit.record(em, [{ action: 'login.fail', ...event }]);
    if (cause instanceof CopiedPasskey) await audit.record(em, [{ action: 'mfa.detect-copy', ...event }]);
    await anonymousLimits.addFailure('passkey', address);
  };

  return {
    /**
     * Exchanges a password for a new token of 40 hexadecimal characters. A user with a second factor also needs a code of it.
     * @throws Problem `invalid-credentials`, `password_expired`, `otp-required`, `invalid-otp`, `throttled`, `overloaded`
     */
    createToken: (username: string, password: string, otp: string | undefined): Promise<string> => {
      const create = async () => {
        const token = newToken();
        const grant: Grant = (tx, userId, now) =>
          addToken(tx, { userId, token, now, address, authenticatedAt: now });
        // Scripts send no cookies.
        const user = await verifyPassword({ username, password, entry: {} });
        const exchange = { action: 'login.token', grant } as const;
        if (!user.hasSecondFactor) await whileVerified(user, recordLogin, (tx) => logIn(tx, user, exchange));
        else if (otp === undefined) throw new Problem('otp-required', NEEDS_CODE_FOR_TOKEN);
        else
          await factorProofs.limit(user, {}, { code: otp }, (consume) =>
            whileVerified(user, recordLogin, async (tx) => {
              await consume(tx);
              await logIn(tx, user, { ...exchange, hasFactor: true });
            }),
          );
        return token;
      };
      return reported(create(), () => 'ok');
    },

    /**
     * Exchanges a password for a browser session and returns its secret; of a user with a second factor, for a challenge, and returns
     * its token.
     * @throws Problem `invalid-credentials`, `password_expired`, `throttled`, `overloaded`
     */
    createSession: (
      username: string,
      password: string,
      browser: LoginBrowser,
    ): Promise<{ session: string } | { challenge: string }> => {
      const { userAgent, device: deviceCookie } = browser;
      const create = async () => {
        const user = await verifyPassword({ username, password, entry: { deviceCookie } });
        if (user.hasSecondFactor)
          return whileVerified(user, lockVerified, async (tx) => {
            const challenge = await addChallenge(tx, user.id, clock.now());
            const event = { actor: user, target: user.email, clients: user.clientIds };
            await audit.record(tx, [{ action: 'mfa.challenge', ...event }]);
            return { challenge };
          });
        const session = newSecret();
        const exchange = {
          action: 'login.session',
          grant: sessionGrant(session, userAgent, BY_PASSWORD),
        } as const;
        await whileVerified(user, recordLogin, (tx) => logIn(tx, user, exchange));
        return { session };
      };
      return reported(create(), (result) => ('session' in result ? 'ok' : 'otp-required'));
    },

    /**
     * Exchanges a challenge and a second factor for a browser session and returns its secret.
     * @throws Problem `invalid-challenge`, `invalid-otp`, `invalid-passkey`, `throttled`
     */
    answerChallenge: (challenge: string, proof: FactorProof, browser: LoginBrowser): Promise<string> => {
      const { userAgent, device: deviceCookie } = browser;
      const answer = async () => {
        const { id, user } = await takeAttempt(em, challenge, clock.now());
        const session = newSecret();
        await factorProofs.limit(user, { deviceCookie }, proof, (consume) =>
          em.transactional(async (tx) => {
            const now = clock.now();
            if (!(await recordLogin(tx, user, now))) throw new Problem('invalid-challenge');
            await completeChallenge(tx, id, now);
            const methods = addMethods(BY_PASSWORD, await consume(tx));
            const grant = sessionGrant(session, userAgent, methods);
            await logIn(tx, user, { action: 'login.session', grant, hasFactor: true });
          }),
        );
        return session;
      };
      return reported(answer(), () => 'ok');
    },

    /**
     * Exchanges an answer of a passkey for a browser session and returns its secret. It needs no password, not even one that has not
     * expired.
     * @throws Problem `invalid-passkey`, `throttled`
     */
    createSessionByPasskey: (answer: PasskeyAnswer, userAgent: string): Promise<string> => {
      const create = async () => {
        await anonymousLimits.checkFailures('passkey', address);
        const passkey = await passkeys.find(answer.assertion.id);
        const session = newSecret();
        try {
          if (!passkey) throw invalidPasskey();
          const verified = await passkeys.verify(passkey, answer);
          await em.transactional(async (tx) => {
            if (!(await recordLogin(tx, passkey, clock.now()))) throw invalidPasskey();
            const grant = sessionGrant(session, userAgent, await passkeys.consume(tx, verified));
            const details = { passkey: passkey.factor_id };
            await logIn(tx, passkey, { action: 'login.session', grant, hasFactor: true, details });
          });
        } catch (error) {
          if (error instanceof Problem && error.code === 'invalid-passkey')
            await recordPasskeyFailure(passkey, error);
          throw error;
        }
        return session;
      };
      return reported(create(), () => 'ok');
    },

    /**
     * The user whose login waits for the second factor in a browser, and the kinds of factors that they have.
     * @throws Problem `invalid-challenge`
     */
    readChallenge: (challenge: string) => findChallengeUser(em, challenge, clock.now()),
  };
};

const outcomeOfAttempt = <T>(
  attempt: PromiseSettledResult<T>,
  outcomeOf: (result: T) => Outcome,
): Outcome => {
  if (attempt.status === 'fulfilled') return outcomeOf(attempt.value);
  return attempt.reason instanceof Problem ? attempt.reason.code : 'internal-error';
};

type Locked = Pick<VerifiedUser, 'id' | 'lastPasswordSet'>;

/**
 * Locks the user: this waits for a concurrent deactivation or password change, which then ends this login. It also
 * serializes concurrent logins of one user, which delete the oldest credentials.
 */
const lockUnchanged = (tx: Em, { id, lastPasswordSet }: Locked) =>
  tx.findOne(User, { id, isActive: true, lastPasswordSet }, { lockMode: LockMode.PESSIMISTIC_WRITE });

/** @returns false if the user was deactivated, or the password changed, since it was verified */
const lockVerified = async (tx: Em, user: Locked): Promise<boolean> =>
  (await lockUnchanged(tx, user)) !== null;

/** As `lockVerified`, and records the login. */
const recordLogin = async (tx: Em, verified: Locked, now: Date): Promise<boolean> => {
  const user = await lockUnchanged(tx, verified);
  if (!user) return false;
  user.lastLogin = now;
  await tx.flush();
  return true;
};
