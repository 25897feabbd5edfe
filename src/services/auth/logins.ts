import { LockMode } from '@mikro-orm/postgresql';
import { User } from '../../../entities/user.ts';
import type { Em } from '../../db/kysely.ts';
import { newSecret, newToken } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import { type Outcome, telemetry } from '../../lib/telemetry.ts';
import type { AuditAction } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { addSession, addToken } from './credentials.ts';
import type { PasswordEntry, VerifiedUser } from './password-verification.ts';

/** Adds a token or a session. */
type Grant = (tx: Em, userId: number, now: Date) => Promise<unknown>;

type Login = { username: string; password: string; entry: PasswordEntry };
/** `device`: the device cookie. */
type LoginBrowser = { userAgent: string; device: string | null };

/** Exchanges passwords for tokens and sessions. */
export const createLogins = (unit: UnitOfWork) => {
  const { em, clock, passwordVerification, audit, origin, sessionMaxDays } = unit;
  const address = origin.address ?? '';
  const logIn = async (action: AuditAction, login: Login, grant: Grant) => {
    const [attempt] = await Promise.allSettled([exchange(action, login, grant)]);
    telemetry.login.publish(() => ({ outcome: outcomeOf(attempt) }));
    if (attempt.status === 'rejected') throw attempt.reason;
  };

  const exchange = async (action: AuditAction, { username, password, entry }: Login, grant: Grant) => {
    const user = await passwordVerification.verify(username, password, entry);
    if (user.isExpired) {
      const event = { actor: user, target: user.email, clients: user.clientIds };
      await audit.record(em, [{ action: 'login.expired', ...event }]);
      throw new Problem('password_expired');
    }
    const event = { action, actor: user, target: user.email, clients: user.clientIds };
    const isGranted = await em.transactional(async (tx) => {
      if (!(await recordLogin(tx, user, clock.now()))) return false;
      await grant(tx, user.id, clock.now());
      await audit.record(tx, [event]);
      return true;
    });
    if (!isGranted) await passwordVerification.failAfterVerification(user);
  };

  return {
    /**
     * Exchanges a password for a new token of 40 hexadecimal characters.
     * @throws Problem `invalid-credentials`, `password_expired`, `throttled`, `overloaded`
     */
    createToken: async (username: string, password: string): Promise<string> => {
      const token = newToken();
      // Scripts send no cookies.
      await logIn('login.token', { username, password, entry: {} }, (tx, userId, now) =>
        addToken(tx, { userId, token, now, address }),
      );
      return token;
    },

    /**
     * Exchanges a password for a browser session and returns its secret.
     * @throws Problem `invalid-credentials`, `password_expired`, `throttled`, `overloaded`
     */
    createSession: async (username: string, password: string, browser: LoginBrowser): Promise<string> => {
      const secret = newSecret();
      const { userAgent, device: deviceCookie } = browser;
      await logIn('login.session', { username, password, entry: { deviceCookie } }, (tx, userId, now) =>
        addSession(tx, { userId, secret, now, address, userAgent, maxDays: sessionMaxDays }),
      );
      return secret;
    },
  };
};

const outcomeOf = (attempt: PromiseSettledResult<void>): Outcome => {
  if (attempt.status === 'fulfilled') return 'ok';
  return attempt.reason instanceof Problem ? attempt.reason.code : 'internal-error';
};

/**
 * Locks the user first: this waits for a concurrent deactivation or password change, which then ends this login. It also
 * serializes concurrent logins of one user, which delete the oldest credentials.
 * @returns false if the user was deactivated, or the password changed, since it was verified
 */
const recordLogin = async (tx: Em, { id, lastPasswordSet }: VerifiedUser, now: Date): Promise<boolean> => {
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const user = await tx.findOne(User, { id, isActive: true, lastPasswordSet }, { lockMode });
  if (!user) return false;
  user.lastLogin = now;
  await tx.flush();
  return true;
};
