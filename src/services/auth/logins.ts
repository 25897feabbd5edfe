import { LockMode } from '@mikro-orm/postgresql';
import { User } from '../../../entities/user.ts';
import type { Em } from '../../db/kysely.ts';
import { newToken } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import { type AuthMethod, addMethods, BY_BOTH, BY_CODE, BY_PASSWORD } from '../access/auth-methods.ts';
import { NO_TARGET, ofOneself, ofUser } from '../audit/audit.ts';
import { type LoginStep, nextLoginStep } from '../policies/factor-policy.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { addToken } from './credentials.ts';
import type { FactorProof } from './factor-verification.ts';
import { completeChallenge, findChallengeUser, readEnrolment, takeAttempt } from './login-challenges.ts';
import { createLoginOpening, type OpenedLogin, outcomeOfLogin, reported } from './login-opening.ts';
import { addPasskeyAtLogin, readCreationOptions } from './passkey-enrolment.ts';
import type { KnownPasskey, PasskeyAnswer } from './passkeys.ts';
import type { VerifiedUser } from './password-verification.ts';
import { addFirstApp, enrolmentUrl } from './totp-enrolment.ts';
import { invalidPasskey, type NewCredential } from './webauthn.ts';

type Password = { username: string; password: string };

/** The first code of an app, or a new passkey. */
type FirstProof = { code: string } | { credential: NewCredential };
type Taken = Awaited<ReturnType<typeof takeAttempt>>;

/** What a login for a token lacks if it needs this step. */
const NEEDED_FOR_TOKEN: Record<LoginStep, string> = {
  code: 'This account has a second factor. Send a code of the authenticator app, or a recovery code, as `otp`.',
  enrol:
    'This account needs a second factor. Log in with a browser to set one up, then send its code as `otp`.',
  passkey: 'This account needs a passkey. Log in with a browser to add one.',
};

/** Exchanges passwords, second factors and passkeys for tokens and sessions. */
export const createLogins = (unit: UnitOfWork) => {
  const { em, clock, factorProofs, factorSecrets, passkeyChallenges } = unit;
  const opening = createLoginOpening(unit);

  /** Locks the user of a challenge, and completes the challenge. */
  const complete = async (tx: Em, { id, user }: Taken, now: Date): Promise<void> => {
    if (!(await recordLogin(tx, user, now))) throw new Problem('invalid-challenge');
    await completeChallenge(tx, id, now);
  };

  const open = (tx: Em, taken: Taken, proven: readonly AuthMethod[], userAgent: string) => {
    const { user, provider } = taken;
    return opening.open(tx, user, { methods: addMethods(taken.methods, proven), userAgent, provider });
  };

  return {
    /**
     * Exchanges a password for a new token of 40 hexadecimal characters. If the user has a second factor, a code is needed, too.
     * @throws Problem `invalid-credentials`, `sso-required`, `password_expired`, `otp-required`, `invalid-otp`, `throttled`, `overloaded`
     */
    createToken: (username: string, password: string, otp: string | undefined): Promise<string> =>
      reported(
        () => logInForToken(unit, { username, password }, otp),
        () => 'ok',
      ),

    /**
     * Exchanges a password for a browser session and returns its secret. For a user who has a second factor or must set one up, returns the
     * token of a challenge instead.
     * @param wantsFactor whether a user without a second factor is about to set one up anyway
     * @throws Problem `invalid-credentials`, `sso-required`, `password_expired`, `throttled`, `overloaded`
     */
    createSession: (
      username: string,
      password: string,
      userAgent: string,
      wantsFactor: boolean,
    ): Promise<OpenedLogin> =>
      reported(async () => {
        const user = await verifyPassword(unit, { username, password });
        const step = nextLoginStep(user.factors, BY_PASSWORD, clock.now()) ?? (wantsFactor ? 'enrol' : null);
        return step === null
          ? whileVerified(unit, user, recordLogin, (tx) =>
              opening.open(tx, user, { methods: BY_PASSWORD, userAgent }),
            )
          : whileVerified(unit, user, lockUnchanged, (tx) => opening.challenge(tx, user, step, BY_PASSWORD));
      }, outcomeOfLogin),

    /**
     * Exchanges a challenge and a second factor for a browser session and returns its secret.
     * @throws Problem `invalid-challenge`, `invalid-otp`, `invalid-passkey`, `throttled`
     */
    answerChallenge: (challenge: string, proof: FactorProof, userAgent: string): Promise<OpenedLogin> =>
      reported(async () => {
        const taken = await takeAttempt(em, challenge, 'code', clock.now());
        return factorProofs.verify(taken.user, 'login', proof, (consume) =>
          em.transactional(async (tx) => {
            await complete(tx, taken, clock.now());
            return open(tx, taken, await consume(tx), userAgent);
          }),
        );
      }, outcomeOfLogin),

    /**
     * Exchanges the answer of a passkey for a browser session and returns its secret. Needs no password; an expired one does not matter.
     * @throws Problem `invalid-passkey`, `sso-required`, `throttled`
     */
    createSessionByPasskey: (answer: PasskeyAnswer, userAgent: string): Promise<OpenedLogin> =>
      reported(() => logInByPasskey(unit, answer, userAgent), outcomeOfLogin),

    /**
     * The user whose login waits for the second factor in a browser, and the kinds of the user's factors.
     * @throws Problem `invalid-challenge`
     */
    readChallenge: (challenge: string) => findChallengeUser(em, challenge, clock.now()),

    /**
     * What the user needs to complete an enrolment: the secret for an authenticator app, or the options with which a browser creates a
     * passkey. Each call with this challenge returns the same.
     * @param host names the client, which apps and authenticators show
     * @throws Problem `invalid-challenge`, `passkeys-unavailable`
     */
    readEnrolment: async (challenge: string, host: string) => {
      const now = clock.now();
      const login = await readEnrolment(em, challenge, now);
      const user = { id: login.userId, email: login.email };
      if (login.step === 'passkey') {
        const creation = {
          challenge: passkeyChallenges.challengeOfLogin(login.digest),
          timeoutMs: login.expires_at.getTime() - now.getTime(),
        };
        const passkey = await readCreationOptions(unit, em, { user, host, ...creation });
        return { secret: null, otpauth_url: null, passkey };
      }
      const secret = login.sealed_secret === null ? null : factorSecrets.open(user.id, login.sealed_secret);
      if (secret === null) throw new Problem('invalid-challenge');
      return { secret, otpauth_url: await enrolmentUrl(em, host, user.email, secret), passkey: null };
    },

    /**
     * Exchanges a challenge, and the first code of an authenticator app or a new passkey, for a browser session. The app or passkey becomes
     * a second factor of the user.
     * @throws Problem `invalid-challenge`, also if the user has a second factor by now, `invalid-otp`, `invalid-passkey`
     */
    enrol: (challenge: string, added: FirstProof, userAgent: string) =>
      reported(
        async () => {
          const taken = await takeAttempt(em, challenge, 'code' in added ? 'enrol' : 'passkey', clock.now());
          return em.transactional(async (tx) => {
            const now = clock.now();
            await complete(tx, taken, now);
            const { codes, proven } = await addFactor(unit, tx, taken, added, { userAgent, now });
            return { login: await open(tx, taken, proven, userAgent), codes };
          });
        },
        ({ login }) => outcomeOfLogin(login),
      ),
  };
};

/** @throws Problem `invalid-credentials`, `sso-required`, `password_expired`, `throttled`, `overloaded` */
const verifyPassword = async (
  { em, audit, passwordVerification }: UnitOfWork,
  { username, password }: Password,
): Promise<VerifiedUser> => {
  const user = await passwordVerification.verify(username, password, 'login');
  if (user.requiresSso) throw new Problem('sso-required');
  if (!user.isExpired) return user;
  await audit.record(em, [{ action: 'login.expired', ...ofOneself(user) }]);
  throw new Problem('password_expired');
};

/** Runs `work` in a transaction that holds the lock of the user, unless the password was changed since it was verified. */
const whileVerified = async <T>(
  { em, clock, passwordVerification }: UnitOfWork,
  user: VerifiedUser,
  lock: (tx: Em, user: Locked, now: Date) => Promise<unknown>,
  work: (tx: Em) => Promise<T>,
): Promise<T> => {
  const done = await em.transactional(async (tx) =>
    (await lock(tx, user, clock.now())) ? { result: await work(tx) } : null,
  );
  return done ? done.result : passwordVerification.failAfterVerification(user);
};

const logInForToken = async (unit: UnitOfWork, login: Password, otp: string | undefined): Promise<string> => {
  const token = newToken();
  const user = await verifyPassword(unit, login);
  const step = nextLoginStep(user.factors, BY_PASSWORD, unit.clock.now());
  if (step !== 'code' || otp === undefined) {
    requireNoStep(step);
    await whileVerified(unit, user, recordLogin, (tx) => addLoginToken(unit, tx, user, token, BY_PASSWORD));
  } else
    await unit.factorProofs.verify(user, 'login', { code: otp }, (consume) =>
      whileVerified(unit, user, recordLogin, async (tx) => {
        await consume(tx);
        await addLoginToken(unit, tx, user, token, BY_BOTH);
      }),
    );
  return token;
};

/** @throws Problem `otp-required`, `second-factor-required` if the user needs it since the password was verified */
const addLoginToken = async (
  unit: UnitOfWork,
  tx: Em,
  user: VerifiedUser,
  token: string,
  methods: readonly AuthMethod[],
): Promise<void> => {
  const now = unit.clock.now();
  const { state } = await addToken(unit, tx, { userId: user.id, token, now, authenticatedAt: now });
  requireNoStep(nextLoginStep(state, methods, now));
  await unit.audit.record(tx, [{ action: 'login.token', ...ofOneself(user) }]);
};

const logInByPasskey = async (
  unit: UnitOfWork,
  answer: PasskeyAnswer,
  userAgent: string,
): Promise<OpenedLogin> => {
  const { em, clock, passkeys } = unit;
  const passkey = await passkeys.find(answer.assertion.id);
  try {
    if (!passkey) throw invalidPasskey();
    const verified = await passkeys.verify(passkey, answer);
    if (passkey.requiresSso) throw new Problem('sso-required');
    return await em.transactional(async (tx) => {
      if (!(await recordLogin(tx, passkey, clock.now()))) throw invalidPasskey();
      const methods = await passkeys.consume(tx, verified);
      const details = { passkey: passkey.factor_id };
      return createLoginOpening(unit).open(tx, passkey, { methods, userAgent, details });
    });
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid-passkey')
      await recordPasskeyFailure(unit, passkey);
    throw error;
  }
};

/** A signature cannot be guessed. The limit of the network bounds the rows of the audit trail. */
const recordPasskeyFailure = async (
  { em, audit, origin, anonymousLimits }: UnitOfWork,
  passkey: KnownPasskey | undefined,
): Promise<void> => {
  const event = {
    actor: null,
    target: passkey ? ofUser(passkey) : NO_TARGET,
    clients: passkey?.clientIds ?? [],
  };
  await anonymousLimits.addFailure('passkey', origin.address ?? '');
  await audit.record(em, [{ action: 'login.fail', ...event }]);
};

/** Adds a second factor at a login, and returns what it proves. */
const addFactor = async (
  unit: UnitOfWork,
  tx: Em,
  { user, digest, methods, sealedSecret }: Taken,
  added: FirstProof,
  { userAgent, now }: { userAgent: string; now: Date },
): Promise<{ codes: string[]; proven: readonly AuthMethod[] }> => {
  if ('code' in added) {
    if (sealedSecret === null) throw new Problem('invalid-challenge');
    const codes = await addFirstApp(unit, tx, { user, sealedSecret, code: added.code, now });
    return { codes, proven: BY_CODE };
  }
  const challenge = unit.passkeyChallenges.challengeOfLogin(digest);
  const { credential } = added;
  return addPasskeyAtLogin(unit, tx, { user, methods, challenge, credential, userAgent, now });
};

/** @throws Problem `otp-required`, `second-factor-required` */
const requireNoStep = (step: LoginStep | null): void => {
  if (step === null) return;
  const detail = `${NEEDED_FOR_TOKEN[step]} Scripts use a named token instead.`;
  if (step === 'code') throw new Problem('otp-required', { detail });
  throw new Problem('second-factor-required', { detail, status: 400 });
};

type Locked = Pick<VerifiedUser, 'id' | 'lastPasswordSet'>;

/**
 * Locks the user: waits for a concurrent deactivation or password change, which then ends this login. Also serializes concurrent logins of
 * one user, which delete the oldest credentials. Null if the user was deactivated, or the password changed, since it was verified.
 */
const lockUnchanged = (tx: Em, { id, lastPasswordSet }: Locked) =>
  tx.findOne(User, { id, isActive: true, lastPasswordSet }, { lockMode: LockMode.PESSIMISTIC_WRITE });

/** Like `lockUnchanged`, and records the login. */
const recordLogin = async (tx: Em, verified: Locked, now: Date) => {
  const user = await lockUnchanged(tx, verified);
  if (user) user.lastLogin = now;
  await tx.flush();
  return user;
};
