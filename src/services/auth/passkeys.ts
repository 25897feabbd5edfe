import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { newSecret } from '../../lib/ids.ts';
import { notFound } from '../../lib/problems.ts';
import { deriveKey } from '../../lib/sealed-box.ts';
import { type AuthMethod, byPasskey } from '../access/auth-methods.ts';
import { CLIENT_IDS } from '../access/visibility.ts';
import { REQUIRES_SSO } from '../clients/connection-lookup.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  type Assertion,
  type Descriptor,
  hasPasskeysAt,
  invalidPasskey,
  relyingPartyOf,
  requestOptions,
  verifyAssertion,
} from './webauthn.ts';

/** How long a passkey may take to answer, in minutes. */
export const PASSKEY_MINUTES = 5;
export const PASSKEY_MS = PASSKEY_MINUTES * MINUTE_MS;

/**
 * The purpose of a signature. `login`: a login by the passkey alone; `challenge`: a login that waits for the second factor; `confirmation`:
 * a sensitive action.
 */
export const PASSKEY_PURPOSES = ['login', 'challenge', 'confirmation'] as const;
export type PasskeyPurpose = (typeof PASSKEY_PURPOSES)[number];

/** An answer to the challenge that is derived from `token`, the cookie of the browser. */
export type PasskeyAnswer = { assertion: Assertion; token: string | null; purpose: PasskeyPurpose };

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'baseUrl' | 'passkeyChallenges'>;

export type Passkeys = ReturnType<typeof createPasskeys>;
export type KnownPasskey = NonNullable<Awaited<ReturnType<typeof findPasskey>>>;

/** Requests signatures of passkeys, and verifies them. */
export const createPasskeys = ({ em, clock, baseUrl, passkeyChallenges }: Deps) => {
  const request = (purpose: PasskeyPurpose, present: string | null, allowed: readonly Descriptor[]) => {
    const now = clock.now();
    const token = passkeyChallenges.issue(present, now);
    const { challenge, expiresAt } = passkeyChallenges.open(token, purpose, now) ?? refuseToken();
    const timeoutMs = expiresAt.getTime() - now.getTime();
    return { token, options: requestOptions(relyingPartyOf(baseUrl), { challenge, timeoutMs, allowed }) };
  };

  return {
    /** Whether pages of this host can use passkeys. */
    workAt: (host: string): boolean => hasPasskeysAt(baseUrl, host),

    /** Whether any user has a passkey. */
    exist: async (): Promise<boolean> =>
      (await kysely(em).selectFrom('passkeys').select('factor_id').limit(1).executeTakeFirst()) !== undefined,

    /**
     * The options for a login by a passkey alone, of any user.
     * @param present the present token of the browser; its tabs share it
     * @throws Problem `passkeys-unavailable`
     */
    requestLogin: (present: string | null) => request('login', present, []),

    /**
     * The options for a signature by a passkey of this user.
     * @throws Problem `passkeys-unavailable`, `not-found` without a passkey
     */
    requestOf: async (userId: number, purpose: PasskeyPurpose, present: string | null) => {
      const allowed = await readDescriptors(em, userId);
      if (allowed.length === 0) throw notFound('passkey');
      return request(purpose, present, allowed);
    },

    /** The confirmed passkey with this id, and its user. */
    find: (credentialId: string): Promise<KnownPasskey | undefined> => findPasskey(em, credentialId),

    /**
     * Verifies an answer. `consume` uses it up.
     * @throws Problem `invalid-passkey`, for every reason
     */
    verify: async (
      passkey: KnownPasskey,
      { assertion, token, purpose }: PasskeyAnswer,
    ): Promise<VerifiedPasskey> => {
      const opened = token === null ? null : passkeyChallenges.open(token, purpose, clock.now());
      const { challenge, digest, expiresAt } = opened ?? refuseToken();
      // Authenticators omit it if the request names the passkeys.
      const handle = assertion.response.userHandle;
      const isOfUser = handle ? handle === passkey.user_handle : purpose !== 'login';
      if (!isOfUser) throw invalidPasskey();
      const { public_key: publicKey, sign_count: signCount } = passkey;
      const stored = { assertion, publicKey, signCount };
      const signed = await verifyAssertion(relyingPartyOf(baseUrl), challenge, stored);
      return { ...signed, factorId: passkey.factor_id, digest, expiresAt };
    },

    /**
     * Records a verified answer, and returns what it proves. In a transaction that holds the lock of the user: of concurrent answers to a
     * challenge, only one succeeds.
     * @throws Problem `invalid-passkey`
     */
    consume: async (tx: Em, verified: VerifiedPasskey): Promise<readonly AuthMethod[]> => {
      const { factorId, digest, expiresAt, signCount, isBackedUp } = verified;
      const db = kysely(tx);
      const answered = await db
        .insertInto('answered_challenges')
        .values({ digest, expires_at: expiresAt })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      if (answered.numInsertedOrUpdatedRows === 0n) throw invalidPasskey();
      const counted = await db
        .updateTable('passkeys')
        .set({ sign_count: signCount, is_backed_up: isBackedUp })
        .where('factor_id', '=', factorId)
        .executeTakeFirst();
      // The passkey may have been removed since it was found.
      if (counted.numUpdatedRows === 0n) throw invalidPasskey();
      const used = db.updateTable('mfa_factors').set({ last_used_at: clock.now() });
      await used.where('id', '=', factorId).execute();
      return byPasskey(isBackedUp);
    },
  };
};

/** `digest` and `expiresAt` belong to the challenge. */
type VerifiedPasskey = {
  factorId: number;
  signCount: number;
  isBackedUp: boolean;
  digest: string;
  expiresAt: Date;
};

const findPasskey = (em: Em, credentialId: string) =>
  kysely(em)
    .selectFrom('passkeys')
    .innerJoin('mfa_factors as factor', 'factor.id', 'passkeys.factor_id')
    .innerJoin('users', 'users.id', 'factor.user_id')
    .select(['factor_id', 'public_key', 'sign_count', 'user_handle'])
    .select(['users.id', 'users.email', 'users.last_password_set as lastPasswordSet', CLIENT_IDS])
    .select(REQUIRES_SSO.as('requiresSso'))
    .where('credential_id', '=', credentialId)
    .executeTakeFirst();

const refuseToken = (): never => {
  throw invalidPasskey();
};

/** The data by which browsers find the passkeys of a user. */
export const readDescriptors = (em: Em, userId: number): Promise<Descriptor[]> =>
  kysely(em)
    .selectFrom('passkeys')
    .innerJoin('mfa_factors as factor', 'factor.id', 'passkeys.factor_id')
    .select(['credential_id', 'transports'])
    .where('factor.user_id', '=', userId)
    .orderBy('factor_id')
    .execute();

/** A random part, the time at which it expires, and their signature. */
const TOKEN = /^([\w-]{43}\.([0-9a-z]{1,9}))\.([\w-]{43})$/;

/**
 * Issues the cookies of browsers that request a signature. A challenge is derived from the cookie: so it belongs to the browser, and
 * anonymous requests store nothing.
 */
export const createPasskeyChallenges = (secretKey: string) => {
  const key = deriveKey(secretKey, 'passkey challenges');
  const sign = (text: string): Buffer => createHmac('sha256', key).update(text).digest();

  const read = (token: string, now: Date) => {
    const [, signed, expiry, signature] = TOKEN.exec(token) ?? [];
    if (signed === undefined || expiry === undefined || signature === undefined) return null;
    if (!timingSafeEqual(Buffer.from(signature, 'base64url'), sign(signed))) return null;
    const expiresAt = new Date(Number.parseInt(expiry, 36));
    return expiresAt > now ? { signed, expiresAt } : null;
  };

  return {
    /**
     * By which authenticators tell users apart: 43 characters that reveal nothing about the user. A change of the secret key changes it.
     */
    userHandleOf: (userId: number): string => sign(`user ${userId}`).toString('base64url'),

    /** A token for a browser: the present one if it remains valid for a while, because another tab may be waiting for its passkey. */
    issue: (present: string | null, now: Date): string => {
      const shared = present === null ? null : read(present, now);
      if (present !== null && shared && shared.expiresAt.getTime() - now.getTime() > PASSKEY_MS / 2)
        return present;
      const signed = `${newSecret()}.${(now.getTime() + PASSKEY_MS).toString(36)}`;
      return `${signed}.${sign(signed).toString('base64url')}`;
    },

    /** The challenge for the creation of a passkey during the login with this digest. */
    challengeOfLogin: (digest: string): string => sign(`enrolment ${digest}`).toString('base64url'),

    /** The challenge for a purpose, or null if the token was not issued here or has expired. */
    open: (token: string, purpose: PasskeyPurpose, now: Date) => {
      const valid = read(token, now);
      if (!valid) return null;
      const challenge = sign(`${purpose} ${valid.signed}`).toString('base64url');
      return { challenge, digest: hash('sha256', challenge), expiresAt: valid.expiresAt };
    },
  };
};
