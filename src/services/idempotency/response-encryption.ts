import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, deflate, inflate } from 'node:zlib';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** NIST SP 800-38D §8.2.2: random nonces of this length allow 2³² encryptions per key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/**
 * Compression shrinks bulk responses of several MiB to a tenth. Short responses stay uncompressed: a compressed length
 * reveals repeated secrets.
 */
const MIN_COMPRESSED_CHARS = 16_384;
/** The first byte of deflated data (RFC 1950 §2.2); JSON never starts with it. */
const DEFLATED = 0x78;
/** On the thread pool: 14 MiB of incompressible data would block the event loop for 0.4 s. */
const zlibAsync = {
  deflate: promisify<Buffer, object, Buffer>(deflate),
  inflate: promisify<Buffer, Buffer>(inflate),
};

/**
 * Encrypts stored responses, which may contain tokens or links, and fingerprints requests, which may contain passwords, so
 * that reading the database without the service's key reveals neither.
 */
export const createResponseEncryption = (secretKey: string) => {
  const keyFor = (purpose: string): Buffer =>
    Buffer.from(hkdfSync('sha256', secretKey, '', `steward idempotent ${purpose}`, KEY_BYTES));
  const answerKey = keyFor('answers');
  const requestKey = keyFor('requests');

  return {
    /** 64 hexadecimal characters; equal for equal requests. */
    fingerprint: (request: string): string => createHmac('sha256', requestKey).update(request).digest('hex'),

    /** @param context user and key of the response, authenticated with it: other contexts cannot open it */
    seal: async (response: string, context: string): Promise<Buffer> => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, answerKey, nonce).setAAD(Buffer.from(context));
      const sealed = [cipher.update(await compress(response)), cipher.final()];
      return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
    },

    /** @throws Error if the response was sealed for another context, or with another key */
    open: async (sealed: Uint8Array, context: string): Promise<string> => {
      const nonce = sealed.subarray(0, NONCE_BYTES);
      const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv(CIPHER, answerKey, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(context)).setAuthTag(tag);
      const opened = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
      decipher.final(); // returns no bytes in GCM mode, but throws if authentication fails
      return (opened[0] === DEFLATED ? await zlibAsync.inflate(opened) : opened).toString('utf8');
    },
  };
};

const compress = async (response: string): Promise<Buffer> => {
  const bytes = Buffer.from(response);
  if (response.length < MIN_COMPRESSED_CHARS) return bytes;
  return zlibAsync.deflate(bytes, { level: constants.Z_BEST_SPEED });
};
