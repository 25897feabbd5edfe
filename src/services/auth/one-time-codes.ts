import { hash as digest, randomBytes } from 'node:crypto';
import { type Em, kysely } from '../../db/kysely.ts';
import { createSealedSecrets } from '../../lib/sealed-box.ts';
import { prepareCode } from '../../lib/typed-text.ts';

/** Loaded on first use: most installations start without second factors. */
const load = () => import('otplib');

/** How long a code is shown, in seconds. Codes of the step before and after are accepted too, because clocks differ (RFC 6238 §5.2). */
const STEP_SECONDS = 30;

const CODE = /^\d{6}$/;

export const isTotpCode = (code: string): boolean => CODE.test(prepareCode(code));

/** A secret of 160 bits, in base32, the format of authenticator apps. */
export const newTotpSecret = async (): Promise<string> => (await load()).generateSecret();

/** The address in the QR code for an authenticator app. */
export const otpauthUrl = async (issuer: string, email: string, secret: string): Promise<string> => {
  const { generateURI } = await load();
  // A colon separates the issuer from the account.
  return generateURI({ issuer: issuer.replaceAll(':', ' '), label: email, secret });
};

/** The time step of a code, or null if the code is wrong. Each step counts once: steps up to `lastStep` are refused. */
export const matchTotpStep = async (
  secret: string,
  code: string,
  { now, lastStep }: { now: Date; lastStep: number | null },
): Promise<number | null> => {
  if (!isTotpCode(code)) return null;
  const epoch = Math.floor(now.getTime() / 1000);
  const { verifySync } = await load();
  const result = verifySync({ secret, token: prepareCode(code), epoch, epochTolerance: STEP_SECONDS });
  if (!result.valid || !('timeStep' in result)) return null;
  return lastStep !== null && result.timeStep <= lastStep ? null : result.timeStep;
};

/** The secrets of second factors, by user id. */
export const createFactorSecrets = (secretKey: string) =>
  createSealedSecrets(secretKey, 'steward second factors', 'second factor of user');

/** The number of second factors that cannot be used, because they were stored with another secret key. */
export const countUnreadableFactors = async (em: Em, secretKey: string): Promise<number> => {
  const factors = kysely(em).selectFrom('mfa_factors').select(['user_id as id', 'sealed_secret']);
  const rows = factors.where('kind', '=', 'totp').where('confirmed_at', 'is not', null);
  return createFactorSecrets(secretKey).countUnreadable(await rows.execute());
};

const RECOVERY_CODES = 10;
/**
 * 16 letters and digits of 5 bits: too many to be guessed from their digests. The digests need no key, so recovery codes survive a change
 * of the secret key.
 */
const RECOVERY_CODE_LENGTH = 16;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** Each byte gives 5 of its bits. */
const newRecoveryCode = (): string =>
  Array.from(randomBytes(RECOVERY_CODE_LENGTH), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');

const recoveryCodeDigest = (userId: number, code: string): string =>
  digest('sha256', `${userId} ${prepareCode(code)}`);

/** Replaces the recovery codes of a locked user by ten new ones, and returns them in groups of four. */
export const replaceRecoveryCodes = async (tx: Em, userId: number): Promise<string[]> => {
  await deleteRecoveryCodes(tx, userId);
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  const rows = codes.map((code) => ({ user_id: userId, digest: recoveryCodeDigest(userId, code) }));
  await kysely(tx).insertInto('recovery_codes').values(rows).execute();
  return codes.map((code) => code.match(/.{4}/g)?.join('-') ?? code);
};

export const deleteRecoveryCodes = (tx: Em, userId: number) =>
  kysely(tx).deleteFrom('recovery_codes').where('user_id', '=', userId).execute();

/** Uses up a recovery code of a locked user. Returns false if the code is wrong or already used. */
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
