import { createHmac, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import { PASSWORD_HASH_KIND } from '../../../entities/user.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { normalizeEmail } from '../../lib/email-address.ts';
import { newSecret } from '../../lib/ids.ts';
import { networkOf } from '../../lib/ip-networks.ts';
import { isStorableText } from '../../lib/json-value.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import { deriveKey } from '../../lib/sealed-box.ts';
import { CLIENT_IDS } from '../access/visibility.ts';
import { NO_TARGET, ofUser } from '../audit/audit.ts';
import { enqueueDailyNotice } from '../mail/enqueue-mails.ts';
import { passwordExpiresAt } from '../passwords/password-expiry.ts';
import { REQUIRES_SSO } from '../sso/domains.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { FACTOR_SINCE, type FactorState, factorState, type StaffPolicy } from './factor-policy.ts';
import type { AdmittedLogin, LoginSource } from './login-limits.ts';

type Deps = Pick<
  UnitOfWork,
  | 'staffSecondFactor'
  | 'em'
  | 'clock'
  | 'hasher'
  | 'throttle'
  | 'loginConcurrency'
  | 'deviceCookies'
  | 'audit'
  | 'origin'
>;

/** A user whose password was verified, by this login. */
export type VerifiedUser = Pick<
  Account,
  'id' | 'email' | 'clientIds' | 'lastPasswordSet' | 'factorSince' | 'isExpired' | 'requiresSso'
> & {
  factors: FactorState;
  login: AdmittedLogin;
};

/** Where the password was entered: a browser that may have a device cookie, or a live session or token of the account. */
export type PasswordEntry = { deviceCookie?: string | null } | 'live';

export type PasswordVerification = ReturnType<typeof createPasswordVerification>;

export const createPasswordVerification = (deps: Deps) => {
  const { em, clock, hasher, throttle, loginConcurrency, deviceCookies, audit, origin } = deps;
  const { staffSecondFactor } = deps;
  const address = origin.address ?? '';

  /**
   * Does the same work and fails with the same error for every cause. The failure that locks the account enqueues a mail to its
   * user: for an unknown account, the same statements insert nothing.
   */
  const fail = async (user: Account | undefined, login: AdmittedLogin): Promise<never> => {
    const { hasLocked, refusal } = await throttle.recordFailure(login);
    // The username as typed is not recorded: some users type their password into the wrong field.
    const { id = 0, clientIds: clients = [] } = user ?? {};
    const target = user ? ofUser(user) : NO_TARGET;
    const record = (tx: Em) => audit.record(tx, [{ action: 'login.fail', actor: null, target, clients }]);
    const notice = { userId: id, now: clock.now(), address: origin.address };
    if (hasLocked) {
      await em.transactional(async (tx) => {
        await record(tx);
        await enqueueDailyNotice(tx, 'failed-logins', notice);
      });
    } else await record(em);
    throw refusal ?? new Problem('invalid-credentials');
  };

  /** If the hashing queue is full, leaves the upgrade to the next login. Replaces only the hash that was verified: a concurrent password change wins. */
  const upgradeHash = async (userId: number, verified: string, password: string): Promise<void> => {
    const renewed = await hasher.hash(password).catch(orNullIfOverloaded);
    if (renewed === null) return;
    const users = kysely(em).updateTable('users').set({ password_hash: renewed }).where('id', '=', userId);
    await users.where('password_hash', '=', verified).execute();
  };

  return {
    /**
     * Verifies a password. Unknown users, inactive users and wrong passwords take the same time and fail with the same
     * error. An outdated hash is replaced.
     * @throws Problem `invalid-credentials`, `throttled`, `overloaded`
     */
    verify: async (username: string, password: string, entry: PasswordEntry): Promise<VerifiedUser> => {
      const email = normalizeEmail(username.trim());
      const user = await findAccount(em, email, clock.now(), staffSecondFactor);
      // Also the cookies of logins before there was a second factor: they count for passwords, not for codes.
      const source = sourceOf(deviceCookies, entry, user ? [user, { ...user, factorSince: null }] : []);
      const login = await throttle.admit({ username: email, address, source });
      // Inactive users are treated like unknown ones: any password fails, after the same work.
      const hash = user?.isActive ? user.passwordHash : null;
      // Known browsers and live sessions do not wait behind strangers.
      const network = login.network === null ? login.account : networkOf(address);
      const isVerified = await loginConcurrency.run(login.account, network, () =>
        hasher.verify(hash, password, {
          readKinds: () => passwordHashKinds(em),
          confirm: () => throttle.recordSuccess(login),
        }),
      );
      if (!isVerified || !user) return fail(user, login);

      const { passwordHash, isActive: _, enrolled, factor_from, passkey_from, ...verified } = user;
      if (passwordHash && hasher.isOutdated(passwordHash)) await upgradeHash(user.id, passwordHash, password);
      return { ...verified, factors: { enrolled, factor_from, passkey_from }, login };
    },

    /** Fails a verification that a concurrent deactivation or password change has made invalid. */
    failAfterVerification: async ({ email, login }: VerifiedUser): Promise<never> =>
      fail(await findAccount(em, email, clock.now(), staffSecondFactor), login),
  };
};

/** Reports a failed verification of the logged-in user as a field error: only the password can be wrong. */
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
    .select([REQUIRES_SSO.as('requiresSso'), FACTOR_SINCE.as('factorSince')])
    .select(factorState(staffPolicy))
    .where('email', '=', email)
    .executeTakeFirst();
};

type Account = NonNullable<Awaited<ReturnType<typeof findAccount>>>;

const kindOf = sql.raw<string>(PASSWORD_HASH_KIND);

/**
 * Lists the kinds of password hashes that active users have, such as `pbkdf2_sha256$1000000`. Reads one index entry per
 * kind: a loose index scan, emulated by a recursive query.
 */
export const passwordHashKinds = async (em: Em): Promise<string[]> => {
  const { rows } = await sql<{ kind: string }>`
    with recursive kinds (kind) as (
      (select ${kindOf} from users
        where is_active and password_hash is not null
        order by 1 limit 1)
      union all
      select (select ${kindOf} from users
        where is_active and password_hash is not null and ${kindOf} > kinds.kind
        order by 1 limit 1)
      from kinds where kinds.kind is not null
    )
    select kind from kinds where kind is not null`.execute(kysely(em));
  return rows.map(({ kind }) => kind);
};

/** @param owners that the cookie may be bound to; none for an unknown account */
export const sourceOf = (
  deviceCookies: DeviceCookies,
  entry: PasswordEntry,
  owners: readonly DeviceOwner[],
): LoginSource => {
  if (entry === 'live') return { kind: 'live' };
  const { deviceCookie } = entry;
  for (const owner of deviceCookie ? owners : []) {
    const device = deviceCookies.deviceOf(deviceCookie ?? '', owner);
    if (device !== null) return { kind: 'known', device };
  }
  return { kind: 'unknown' };
};

export type DeviceCookies = ReturnType<typeof createDeviceCookies>;

/** The account that a cookie is bound to, its password, and its first second factor; null for a login without one. */
export type DeviceOwner = { id: number; lastPasswordSet: Date; factorSince: Date | null };

/** A random id and its signature. */
const FORMAT = /^([\w-]{43})\.([\w-]{43})$/;

/**
 * Signs the cookies of browsers that have logged in: OWASP's "device cookies". Such a cookie is no credential: it only gives the
 * browser a count of failed logins of its own. It is bound to the account, the password that was entered, and since when the second factor exists
 * that was entered, so that an intruder cannot collect cookies for guessing the next password, or codes.
 * Only logins, which need the second factor, set a new one: each has attempts of its own to guess codes.
 */
export const createDeviceCookies = (secretKey: string) => {
  const key = deriveKey(secretKey, 'device cookies');
  const sign = (device: string, { id, lastPasswordSet, factorSince }: DeviceOwner): Buffer => {
    const bound = [device, id, lastPasswordSet.getTime(), ...(factorSince ? [factorSince.getTime()] : [])];
    return createHmac('sha256', key).update(bound.join('\0')).digest();
  };

  const write = (device: string, owner: DeviceOwner): string =>
    `${device}.${sign(device, owner).toString('base64url')}`;

  const deviceOf = (cookie: string, owner: DeviceOwner): string | null => {
    const [, device, signature] = FORMAT.exec(cookie) ?? [];
    if (device === undefined || signature === undefined) return null;
    return timingSafeEqual(Buffer.from(signature, 'base64url'), sign(device, owner)) ? device : null;
  };

  return {
    /** A new cookie for a browser in which the user has just entered or set this password. */
    issue: (owner: DeviceOwner): string => write(newSecret(), owner),

    /** The cookie of the same browser, with the same counts, for the next password of its owner. Null if it is none of theirs. */
    renew: (cookie: string, owner: DeviceOwner, lastPasswordSet: Date): string | null => {
      for (const bound of [owner, { ...owner, factorSince: null }]) {
        const device = deviceOf(cookie, bound);
        if (device !== null) return write(device, { ...bound, lastPasswordSet });
      }
      return null;
    },

    /** The id of the browser, or null if the cookie is not one of this account, or was issued for a former password. */
    deviceOf,
  };
};
