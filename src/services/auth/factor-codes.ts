import { hash as digest, randomBytes } from 'node:crypto';
import { type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { createSealedBox, deriveKey } from '../../lib/sealed-box.ts';
import { enqueueFactorNotice } from '../mail/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type AuthMethod, BY_CODE } from './methods.ts';
import { isTotpCode, matchTotpStep, normalizeCode } from './totp.ts';

type Deps = Pick<UnitOfWork, 'clock' | 'audit' | 'origin' | 'factorSecrets' | 'logger'>;

/** Whose code is entered. `lastPasswordSet`: device cookies are bound to it. */
export type CodeOwner = { id: number; email: string; clientIds: number[]; lastPasswordSet: Date };

/** Verifies codes of authenticator apps, and recovery codes, which replace second factors. */
export const createFactorCodes = (deps: Deps) => {
  const { clock, audit, origin, factorSecrets, logger } = deps;

  const consumeTotp = async (tx: Em, userId: number, code: string): Promise<boolean> => {
    const db = kysely(tx);
    const now = clock.now();
    const factors = await db
      .selectFrom('mfa_factors')
      .select(['id', 'sealed_secret', 'last_step'])
      .where('user_id', '=', userId)
      .where('kind', '=', 'totp')
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
      .where('digest', '=', recoveryCodeDigest(user.id, normalizeCode(code)))
      .where('user_id', '=', user.id)
      .where('used_at', 'is', null)
      .executeTakeFirst();
    if (used.numUpdatedRows === 0n) return false;
    await enqueueFactorNotice(tx, 'recovery-code-used', { userId: user.id, now, address: origin.address });
    const event = { actor: user, target: user.email, clients: user.clientIds };
    await audit.record(tx, [{ action: 'mfa.use-recovery-code', ...event }]);
    return true;
  };

  return {
    /**
     * Uses up a code, in a transaction that holds the lock of its user: of concurrent uses, only one succeeds. Returns what it proves.
     * @throws Problem `invalid-otp`
     */
    consume: async (tx: Em, user: CodeOwner, code: string): Promise<readonly AuthMethod[]> => {
      const isRight = isTotpCode(code)
        ? await consumeTotp(tx, user.id, code)
        : await consumeRecoveryCode(tx, user, code);
      if (!isRight) throw new Problem('invalid-otp');
      return BY_CODE;
    },
  };
};

const UNREADABLE =
  'The secret of a second factor cannot be opened: it was stored with another SECRET_KEY. Its owner needs a recovery code or a reset.';

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
  const rows = await factors.where('kind', '=', 'totp').where('confirmed_at', 'is not', null).execute();
  return rows.filter(({ user_id, sealed_secret }) => open(user_id, sealed_secret) === null).length;
};

/** Encrypts the secrets of second factors. A secret opens for its user only. */
export const createFactorSecrets = (secretKey: string) => {
  const box = createSealedBox(deriveKey(secretKey, 'steward second factors'));
  const contextOf = (userId: number): string => `second factor of user ${userId}`;
  return {
    seal: (userId: number, secret: string): Buffer => box.seal(Buffer.from(secret), contextOf(userId)),

    /** Null if it was sealed with another secret key, or there is none. */
    open: (userId: number, sealed: Uint8Array | null): string | null => {
      if (sealed === null) return null;
      try {
        return box.open(sealed, contextOf(userId)).toString();
      } catch (_sealedWithAnotherKey) {
        return null;
      }
    },
  };
};
