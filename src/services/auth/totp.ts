import { type Em, kysely } from '../../db/kysely.ts';
import { createSealedBox, deriveKey } from '../../lib/sealed-box.ts';

/** Loaded by the first use: most installations start without second factors. */
const load = () => import('otplib');

/** Seconds that a code is shown; those of the step before and after are accepted too, for clocks that differ (RFC 6238 §5.2). */
const STEP_SECONDS = 30;

const CODE = /^\d{6}$/;

/** Codes are shown in groups, and typed with or without spaces and hyphens. */
export const normalizeCode = (code: string): string => code.replaceAll(/[\s-]/g, '').toLowerCase();

export const isTotpCode = (code: string): boolean => CODE.test(normalizeCode(code));

/** A secret of 160 bits, in base32, as authenticator apps take it. */
export const newTotpSecret = async (): Promise<string> => (await load()).generateSecret();

/** The address that the QR code for an authenticator app holds. */
export const otpauthUrl = async (issuer: string, email: string, secret: string): Promise<string> => {
  const { generateURI } = await load();
  // A colon separates the issuer from the account.
  return generateURI({ issuer: issuer.replaceAll(':', ' '), label: email, secret });
};

/**
 * The time step of a code, or null if it is wrong. Each step counts once: those up to `lastStep` are refused.
 */
export const matchTotpStep = async (
  secret: string,
  code: string,
  { now, lastStep }: { now: Date; lastStep: number | null },
): Promise<number | null> => {
  if (!isTotpCode(code)) return null;
  const epoch = Math.floor(now.getTime() / 1000);
  const { verifySync } = await load();
  const result = verifySync({ secret, token: normalizeCode(code), epoch, epochTolerance: STEP_SECONDS });
  if (!result.valid || !('timeStep' in result)) return null;
  return lastStep !== null && result.timeStep <= lastStep ? null : result.timeStep;
};

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
