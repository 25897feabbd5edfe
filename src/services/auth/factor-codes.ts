import { hash as digest, randomBytes } from 'node:crypto';
import { type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { createSealedBox, deriveKey } from '../../lib/sealed-box.ts';
import { enqueueFactorNotice, enqueueFailedCodesNotice } from '../mail/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type PasswordEntry, sourceOf } from './password-verification.ts';
import { matchTotpStep } from './totp.ts';

type Deps = Pick<
  UnitOfWork,
  'em' | 'clock' | 'throttle' | 'deviceCookies' | 'audit' | 'origin' | 'factorSecrets' | 'logger'
>;

/** Whose code is entered. `lastPasswordSet`: device cookies are bound to it. */
export type CodeOwner = { id: number; email: string; clientIds: number[]; lastPasswordSet: Date };

export type FactorCodes = ReturnType<typeof createFactorCodes>;

/** Verifies codes of second factors, and recovery codes, which replace them. */
export const createFactorCodes = (deps: Deps) => {
  const { em, clock, throttle, deviceCookies, audit, origin, factorSecrets, logger } = deps;
  const address = origin.address ?? '';

  const consumeTotp = async (tx: Em, userId: number, code: string): Promise<boolean> => {
    const db = kysely(tx);
    const now = clock.now();
    const factors = await db
      .selectFrom('mfa_factors')
      .select(['id', 'sealed_secret', 'last_step'])
      .where('user_id', '=', userId)
      .where('confirmed_at', 'is not', null)
      .orderBy('id')
      .execute();
    for (const { id, sealed_secret: sealed, last_step: lastStep } of factors) {
      const secret = factorSecrets.open(userId, sealed);
      if (secret === null) logger.warn(UNREADABLE);
      const step = secret === null ? null : await matchTotpStep(secret, code, { now, lastStep });
      if (step === null) continue;
      await db
        .updateTable('mfa_factors')
        .set({ last_step: step, last_used_at: now })
        .where('id', '=', id)
        .execute();
      return true;
    }
    return false;
  };

  const consumeRecoveryCode = async (tx: Em, user: CodeOwner, code: string): Promise<boolean> => {
    const now = clock.now();
    const used = await kysely(tx)
      .updateTable('recovery_codes')
      .set({ used_at: now })
      .where('digest', '=', recoveryCodeDigest(user.id, code))
      .where('user_id', '=', user.id)
      .where('used_at', 'is', null)
      .executeTakeFirst();
    if (used.numUpdatedRows === 0n) return false;
    await enqueueFactorNotice(tx, 'recovery-code-used', { userId: user.id, now, address: origin.address });
    const event = { actor: user, target: user.email, clients: user.clientIds };
    await audit.record(tx, [{ action: 'mfa.use-recovery-code', ...event }]);
    return true;
  };

  /** The failure that locks the codes of logins enqueues a mail: who logs in with a code knows the password. */
  const recordFailure = (user: CodeOwner, isLast: boolean) =>
    em.transactional(async (tx) => {
      const event = { actor: null, target: user.email, clients: user.clientIds };
      await audit.record(tx, [{ action: 'mfa.fail', ...event }]);
      const notice = { userId: user.id, now: clock.now(), address: origin.address };
      if (isLast) await enqueueFailedCodesNotice(tx, notice);
    });

  return {
    /**
     * Uses up a code, in a transaction that holds the lock of its user: of concurrent uses, only one succeeds.
     * @throws Problem `invalid-otp`
     */
    consume: async (tx: Em, user: CodeOwner, code: string): Promise<void> => {
      const text = normalizeCode(code);
      const isRight = TOTP_CODE.test(text)
        ? await consumeTotp(tx, user.id, text)
        : await consumeRecoveryCode(tx, user, text);
      if (!isRight) throw new Problem('invalid-otp');
    },

    /**
     * Runs a transaction that calls `consume`, and counts its failure.
     * @throws Problem `throttled`, `invalid-otp`, and those of `transact`
     */
    limit: async <T>(user: CodeOwner, entry: PasswordEntry, transact: () => Promise<T>): Promise<T> => {
      const source = sourceOf(deviceCookies, entry, user);
      const attempt = await throttle.admitCode({ username: user.email, address, source });
      try {
        const result = await transact();
        await throttle.clearCodes(attempt);
        return result;
      } catch (error) {
        if (error instanceof Problem && error.code === 'invalid-otp') {
          await throttle.recordWrongCode(attempt);
          await recordFailure(user, attempt.isLast);
        }
        throw error;
      }
    },
  };
};

const UNREADABLE =
  'The secret of a second factor cannot be opened: it was stored with another SECRET_KEY. Its owner needs a recovery code or a reset.';

const TOTP_CODE = /^\d{6}$/;

/** Codes are shown in groups, and typed with or without spaces and hyphens. */
const normalizeCode = (code: string): string => code.replaceAll(/[\s-]/g, '').toLowerCase();

const RECOVERY_CODES = 10;
/** 16 letters and digits of 5 bits: too many to be guessed from their digests. They need no key, and so survive a change of it. */
const RECOVERY_CODE_LENGTH = 16;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** Each byte gives 5 of its bits. */
const newRecoveryCode = (): string =>
  Array.from(randomBytes(RECOVERY_CODE_LENGTH), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');

const recoveryCodeDigest = (userId: number, code: string): string => digest('sha256', `${userId} ${code}`);

/** Replaces the recovery codes of a locked user by ten new ones, and returns them in groups of four. */
export const replaceRecoveryCodes = async (tx: Em, userId: number): Promise<string[]> => {
  const db = kysely(tx);
  await deleteRecoveryCodes(tx, userId);
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  await db
    .insertInto('recovery_codes')
    .values(codes.map((code) => ({ user_id: userId, digest: recoveryCodeDigest(userId, code) })))
    .execute();
  return codes.map((code) => code.match(/.{4}/g)?.join('-') ?? code);
};

export const deleteRecoveryCodes = (tx: Em, userId: number) =>
  kysely(tx).deleteFrom('recovery_codes').where('user_id', '=', userId).execute();

/** How many second factors cannot be used, because they were stored with another secret key. */
export const countUnreadableFactors = async (em: Em, secretKey: string): Promise<number> => {
  const { open } = createFactorSecrets(secretKey);
  const factors = kysely(em).selectFrom('mfa_factors').select(['user_id', 'sealed_secret']);
  const rows = await factors.where('confirmed_at', 'is not', null).execute();
  return rows.filter(({ user_id, sealed_secret }) => open(user_id, sealed_secret) === null).length;
};

/** Encrypts the secrets of second factors. A secret opens for its user only. */
export const createFactorSecrets = (secretKey: string) => {
  const box = createSealedBox(deriveKey(secretKey, 'steward second factors'));
  const contextOf = (userId: number): string => `second factor of user ${userId}`;
  return {
    seal: (userId: number, secret: string): Buffer => box.seal(Buffer.from(secret), contextOf(userId)),

    /** Null if it was sealed with another secret key. */
    open: (userId: number, sealed: Uint8Array): string | null => {
      try {
        return box.open(sealed, contextOf(userId)).toString();
      } catch (_sealedWithAnotherKey) {
        return null;
      }
    },
  };
};
