import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { Problem } from '../lib/problems.ts';

const CIPHER = 'aes-256-gcm';
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** OWASP's choice for scrypt: 128 MiB, about 0.4 s. */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };

const derive = promisify<string, Buffer, number, typeof COST, Buffer>(scrypt);

/** Encrypts the secret key with a passphrase. */
export const sealKey = async (secretKey: string, passphrase: string): Promise<Buffer> => {
  const salt = randomBytes(SALT_BYTES);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, await derive(passphrase, salt, KEY_BYTES, COST), nonce);
  const sealed = Buffer.concat([cipher.update(secretKey, 'utf8'), cipher.final()]);
  return Buffer.concat([salt, nonce, cipher.getAuthTag(), sealed]);
};

/** @throws Problem `invalid-input` if the passphrase is wrong */
export const openKey = async (sealed: Buffer, passphrase: string): Promise<string> => {
  const nonceAt = SALT_BYTES;
  const tagAt = nonceAt + NONCE_BYTES;
  const textAt = tagAt + TAG_BYTES;
  const key = await derive(passphrase, sealed.subarray(0, nonceAt), KEY_BYTES, COST);
  try {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(nonceAt, tagAt), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(sealed.subarray(tagAt, textAt));
    return Buffer.concat([decipher.update(sealed.subarray(textAt)), decipher.final()]).toString('utf8');
  } catch (cause) {
    const detail = 'BACKUP_PASSPHRASE is not the passphrase of this backup.';
    throw new Problem('invalid-input', { detail, cause });
  }
};
