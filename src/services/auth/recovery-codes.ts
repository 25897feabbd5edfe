import { hash as digest, randomBytes } from 'node:crypto';
import { type Em, kysely } from '../../db/kysely.ts';
import { normalizeCode } from './totp.ts';

const RECOVERY_CODES = 10;
/** 16 letters and digits of 5 bits: too many to be guessed from their digests. They need no key, and so survive a change of it. */
const RECOVERY_CODE_LENGTH = 16;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** Each byte gives 5 of its bits. */
const newRecoveryCode = (): string =>
  Array.from(randomBytes(RECOVERY_CODE_LENGTH), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');

const recoveryCodeDigest = (userId: number, code: string): string =>
  digest('sha256', `${userId} ${normalizeCode(code)}`);

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

/** Uses up a recovery code of a locked user. Returns false if it is wrong or was used. */
export const consumeRecoveryCode = async (
  tx: Em,
  userId: number,
  code: string,
  now: Date,
): Promise<boolean> => {
  const used = await kysely(tx)
    .updateTable('recovery_codes')
    .set({ used_at: now })
    .where('digest', '=', recoveryCodeDigest(userId, code))
    .where('user_id', '=', userId)
    .where('used_at', 'is', null)
    .executeTakeFirst();
  return used.numUpdatedRows > 0n;
};
