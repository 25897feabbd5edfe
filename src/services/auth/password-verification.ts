import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { PasswordHasher } from '../../adapters/hashing/password-hasher.ts';
import { tables } from '../../db/kysely.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import { normalizeEmail } from '../../lib/email-address.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import type { Audit, AuditEvent, Origin } from '../audit/audit.ts';
import { networkOf } from '../rate-limits/window-counter.ts';
import type { LoginConcurrency } from './login-concurrency.ts';
import type { LoginThrottle } from './login-throttle.ts';
import { passwordHashKinds } from './password-hash-kinds.ts';

type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  hasher: PasswordHasher;
  throttle: LoginThrottle;
  loginConcurrency: LoginConcurrency;
  audit: Audit;
  origin: Origin;
};

/** Somebody who has shown that they know a user's password. */
export type VerifiedUser = {
  id: number;
  email: string;
  clientIds: number[];
  /** Changes with the password: whoever acts on this passwordVerification makes sure that it is still the same. */
  lastPasswordSet: Date;
  isExpired: boolean;
};

export type PasswordVerification = ReturnType<typeof createPasswordVerification>;

export const createPasswordVerification = ({
  em,
  clock,
  hasher,
  throttle,
  loginConcurrency,
  audit,
  origin,
}: Deps) => {
  const address = origin.address ?? '';

  /** The same work and answer for everybody whom it fails. */
  const fail = async (email: string, user: CredentialsRow | undefined): Promise<never> => {
    // What was typed stays out: some type their password into the wrong field.
    const event: AuditEvent = { action: 'login.fail', actor: null, target: user?.email ?? '' };
    await audit.record(em, [{ ...event, clients: user?.client_ids ?? [] }]);
    await throttle.recordFailure(email, address);
    throw new Problem('invalid-credentials');
  };

  /** Put off to the next login when there is too much to hash: the password was right all the same. */
  const upgradeHash = async (userId: number, verified: string, password: string): Promise<void> => {
    const renewed = await hasher.hash(password).catch(orNullIfOverloaded);
    if (renewed !== null) await replaceHash(em, userId, verified, renewed);
  };

  return {
    /**
     * Unknown, inactive and wrong all do the same work and answer the same. A hash of an older kind is replaced.
     * @throws Problem `invalid-credentials`, `throttled`, `overloaded`
     */
    verify: async (username: string, password: string): Promise<VerifiedUser> => {
      const email = normalizeEmail(username.trim());
      await throttle.refuse(email, address);
      const [user, kinds] = await Promise.all([findCredentials(em, email), passwordHashKinds(em)]);
      // An inactive user fails whatever the password: as an unknown one, whose work is the same.
      const hash = user?.is_active ? user.password_hash : null;
      const confirm = () => throttle.recordSuccess(email, address);
      const isVerified = await loginConcurrency.run(email, networkOf(address), () =>
        hasher.verify(hash, password, { kinds, confirm }),
      );
      if (!isVerified || !user) return fail(email, user);

      if (user.password_hash && hasher.isOutdated(user.password_hash)) {
        await upgradeHash(user.id, user.password_hash, password);
      }
      return provenUser(user, clock.now());
    },

    /** For a passwordVerification that turned out to be overtaken by a deactivation or another password. */
    failAfterVerification: async ({ email }: VerifiedUser): Promise<never> =>
      fail(email, await findCredentials(em, email)),
  };
};

/** Somebody who is logged in has only the password to get wrong. */
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

const provenUser = (user: CredentialsRow, now: Date): VerifiedUser => ({
  id: user.id,
  email: user.email,
  clientIds: user.client_ids,
  lastPasswordSet: user.last_password_set,
  isExpired:
    user.expiration_days !== null &&
    now.getTime() - user.last_password_set.getTime() > user.expiration_days * DAY_MS,
});

/** A username is any text: PostgreSQL must not be asked for one that it cannot hold. */
const findCredentials = async (em: SqlEntityManager, email: string) =>
  email.includes('\0') || !email.isWellFormed()
    ? undefined
    : tables(em)
        .selectFrom('users')
        .select(['id', 'email', 'is_active', 'password_hash', 'last_password_set'])
        .select([
          sql<number[]>`array(select client_id from memberships m where m.user_id = users.id)`.as(
            'client_ids',
          ),
          sql<number | null>`(select min(c.password_expiration_days) from memberships m
            join clients c on c.id = m.client_id and c.password_expiration_days > 0
            where m.user_id = users.id)`.as('expiration_days'),
        ])
        .where('email', '=', email)
        .executeTakeFirst();

type CredentialsRow = NonNullable<Awaited<ReturnType<typeof findCredentials>>>;

/** Only where the hash is still the one that was verified: a password changed meanwhile must win. */
const replaceHash = (em: SqlEntityManager, userId: number, verified: string, renewed: string) =>
  tables(em)
    .updateTable('users')
    .set({ password_hash: renewed })
    .where('id', '=', userId)
    .where('password_hash', '=', verified)
    .execute();
