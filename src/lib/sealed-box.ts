import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** NIST SP 800-38D §8.2.2: random nonces of this length allow 2³² encryptions per key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A key for one purpose, derived from the secret key of the service. */
export const deriveKey = (secretKey: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretKey, '', purpose, KEY_BYTES));

/**
 * Encrypts data for the database, so that reading it without the key reveals nothing. The context is authenticated with the content: other
 * contexts cannot open it.
 */
export const createSealedBox = (key: Buffer) => ({
  seal: (content: Buffer, context: string): Buffer => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
    const sealed = [cipher.update(content), cipher.final()];
    return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
  },

  /** @throws Error if the content was sealed for another context, or with another key */
  open: (sealed: Uint8Array, context: string): Buffer => {
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(context)).setAuthTag(tag);
    const opened = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
    decipher.final(); // returns no bytes in GCM mode, but throws if authentication fails
    return opened;
  },
});

export type SealedSecrets = ReturnType<typeof createSealedSecrets>;

/** Encrypts secrets of records. Each secret can be opened only for its record. @param what names the secret, such as `secret of webhook` */
export const createSealedSecrets = (secretKey: string, purpose: string, what: string) => {
  const box = createSealedBox(deriveKey(secretKey, purpose));
  /** Null without a secret, or if it was sealed with another secret key. */
  const open = (id: number, sealed: Uint8Array | null): string | null => {
    if (sealed === null) return null;
    try {
      return box.open(sealed, `${what} ${id}`).toString();
    } catch (_sealedWithAnotherKey) {
      return null;
    }
  };
  return {
    seal: (id: number, secret: string): Buffer => box.seal(Buffer.from(secret), `${what} ${id}`),
    open,
    /** The number of these that were sealed with another secret key. */
    countUnreadable: (rows: readonly { id: number; sealed_secret: Uint8Array | null }[]): number =>
      rows.filter(({ id, sealed_secret: sealed }) => sealed && open(id, sealed) === null).length,
  };
};
