import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { deriveKey } from '../../lib/sealed-box.ts';

/** A keyed digest of an address, 64 hexadecimal characters; null if the text is not an address. */
export type AddressDigest = (text: string) => string | null;

/** A digest that is always null, for callers that must not record anything under erased addresses. */
export const NO_DIGEST: AddressDigest = () => null;

/**
 * Digests of erased addresses and confirmation codes. Both are keyed with the secret key of the service, so that the database
 * alone is not enough to guess an address or to confirm an erasure.
 */
export const createErasureKeys = (secretKey: string) => {
  // An HMAC takes 5 µs with a key object, and 50 µs with its bytes.
  const keyFor = (purpose: string): KeyObject =>
    createSecretKey(deriveKey(secretKey, `steward erasure ${purpose}`));
  const addressKey = keyFor('addresses');
  const confirmationKey = keyFor('confirmations');
  const sign = (expiresAt: number, subject: string): string =>
    createHmac('sha256', confirmationKey).update(`${expiresAt} ${subject}`).digest('base64url');

  const addressDigest: AddressDigest = (text) =>
    text.includes('@') ? createHmac('sha256', addressKey).update(text).digest('hex') : null;

  return {
    addressDigest,

    /** @param subject the confirming user, and the person with their present state */
    confirmation: (subject: string, expiresAt: Date): string =>
      `${expiresAt.getTime()}.${sign(expiresAt.getTime(), subject)}`,

    isConfirmed: (code: string, subject: string, now: Date): boolean => {
      const [, expiresAt = '0', signature = ''] = /^(\d{1,15})\.([\w-]{43})$/.exec(code) ?? [];
      const expected = sign(Number(expiresAt), subject);
      // Both have 43 characters unless the code has another form.
      return (
        Number(expiresAt) > now.getTime() && timingSafeEqual(Buffer.from(signature), Buffer.from(expected))
      );
    },
  };
};
