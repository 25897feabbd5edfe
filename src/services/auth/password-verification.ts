import { condition, type Em, kysely } from '../../db/kysely.ts';
import { normalizeEmail } from '../../lib/email-address.ts';
import { isStorableText } from '../../lib/json-value.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import { CLIENT_IDS } from '../access/visibility.ts';
import { NO_TARGET, ofUser } from '../audit/audit.ts';
import { REQUIRES_SSO } from '../clients/connection-lookup.ts';
import { enqueueDailyNotice } from '../outbox/enqueue-mails.ts';
import { type FactorState, factorState, type StaffPolicy } from '../policies/factor-policy.ts';
import { passwordExpiresAt } from '../policies/password-expiry.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { LAST_ADDRESSES, type PasswordEntry, sourceOf } from './login-limits.ts';

type Deps = Pick<
  UnitOfWork,
  'staffSecondFactor' | 'em' | 'clock' | 'hasher' | 'guessLimits' | 'loginConcurrency' | 'audit' | 'origin'
>;

/** A user whose password was verified by this login. */
export type VerifiedUser = Pick<
  Account,
  'id' | 'email' | 'clientIds' | 'lastPasswordSet' | 'isExpired' | 'requiresSso'
> & { factors: FactorState };

export type PasswordVerification = ReturnType<typeof createPasswordVerification>;

export const createPasswordVerification = (deps: Deps) => {
  const { em, clock, hasher, guessLimits, loginConcurrency, audit, origin } = deps;
  const { staffSecondFactor } = deps;
  const address = origin.address ?? '';

  const find = (email: string) => findAccount(em, email, clock.now(), staffSecondFactor);

  /**
   * Does the same work and fails with the same error for every cause. The tenth failure enqueues a mail to the user: for an unknown
   * account, the same statements insert nothing.
   */
  const fail = async (user: Account | undefined, isTenth: boolean): Promise<never> => {
    // The username is not recorded as typed: some users type their password into the wrong field.
    const { id = 0, clientIds: clients = [] } = user ?? {};
    const target = user ? ofUser(user) : NO_TARGET;
    const record = (tx: Em) => audit.record(tx, [{ action: 'login.fail', actor: null, target, clients }]);
    const notice = { userId: id, now: clock.now(), address: origin.address };
    if (isTenth) {
      await em.transactional(async (tx) => {
        await record(tx);
        await enqueueDailyNotice(tx, 'failed-logins', notice);
      });
    } else await record(em);
    throw new Problem('invalid-credentials');
  };

  /**
   * Replaces an outdated hash. Only the hash that was verified: a concurrent password change wins. If the hashing queue is full, the next
   * login does it.
   */
  const upgradeHash = async (userId: number, verified: string, password: string): Promise<void> => {
    const renewed = await hasher.hash(password).catch(orNullIfOverloaded);
    if (renewed === null) return;
    const users = kysely(em).updateTable('users').set({ password_hash: renewed }).where('id', '=', userId);
    await users.where('password_hash', '=', verified).execute();
  };

  return {
    /**
     * Verifies a password. Unknown users, inactive users and wrong passwords take the same time and fail with the same error. Replaces an
     * outdated hash.
     * @throws Problem `invalid-credentials`, `throttled`, `overloaded`
     */
    verify: async (username: string, password: string, entry: PasswordEntry): Promise<VerifiedUser> => {
      const email = normalizeEmail(username.trim());
      const user = await find(email);
      // Inactive users are treated like unknown ones: any password fails, after the same work.
      const hash = user?.isActive ? user.passwordHash : null;
      const source = entry === 'live' ? entry : sourceOf(address, user?.lastAddresses ?? []);
      const check = async (): Promise<Account> => {
        const guess = await guessLimits.take({ kind: 'password', account: email, address, source });
        const isRight = await hasher.verify(hash, password).catch(async (error: unknown) => {
          await guess.giveBack();
          throw error;
        });
        if (!isRight || !user) return fail(user, guess.isTenth);
        await guess.giveBack();
        return user;
      };
      const {
        passwordHash,
        isActive: _,
        enrolled,
        factor_from,
        passkey_from,
        ...verified
      } = await loginConcurrency.run({ email, address, source }, check);
      if (passwordHash && hasher.isOutdated(passwordHash))
        await upgradeHash(verified.id, passwordHash, password);
      return { ...verified, factors: { enrolled, factor_from, passkey_from } };
    },

    /** Fails a verification that a concurrent deactivation or password change has made invalid. */
    failAfterVerification: async ({ email }: VerifiedUser): Promise<never> => fail(await find(email), false),
  };
};

/** Reports a failed verification for the logged-in user as a field error: only the password can be wrong. */
export const rethrowAsWrongPassword = (error: unknown): never => {
  if (error instanceof Problem && error.code === 'invalid-credentials') {
    throw invalid({ password: ['This is not your current password.'] }, error);
  }
  throw error;
};

const orNullIfOverloaded = (error: unknown): null => {
  if (error instanceof Problem && error.code === 'overloaded') return null;
  throw error;
};

/** Usernames may be any text. */
const findAccount = async (em: Em, email: string, now: Date, staffPolicy: StaffPolicy) => {
  if (!isStorableText(email)) return undefined;
  const isExpired = condition`coalesce(${passwordExpiresAt('users')} < ${now}::timestamptz, false)`;
  return kysely(em)
    .selectFrom('users')
    .select(['id', 'email', 'is_active as isActive', 'password_hash as passwordHash'])
    .select(['last_password_set as lastPasswordSet', CLIENT_IDS, isExpired.as('isExpired')])
    .select([REQUIRES_SSO.as('requiresSso'), LAST_ADDRESSES.as('lastAddresses')])
    .select(factorState(staffPolicy))
    .where('email', '=', email)
    .executeTakeFirst();
};

type Account = NonNullable<Awaited<ReturnType<typeof findAccount>>>;
