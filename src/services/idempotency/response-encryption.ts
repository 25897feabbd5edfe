import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, deflate, inflate } from 'node:zlib';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** NIST SP 800-38D §8.2.2: random ones of this length are good for 2³² answers under one key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/**
 * The answer to a bulk is some MiB, of which a tenth is left. A short one stays as it is: its length must not tell how much
 * of a secret it repeats.
 */
const COMPRESSED_FROM_CHARS = 16_384;
/** The first byte of what `deflate` makes (RFC 1950 §2.2), which no JSON begins with. */
const DEFLATED = 0x78;
/** In threads: 14 MiB of what cannot be made smaller would hold everybody up for 0.4 s. */
const inThread = {
  deflate: promisify<Buffer, object, Buffer>(deflate),
  inflate: promisify<Buffer, Buffer>(inflate),
};

export type ResponseEncryption = ReturnType<typeof createResponseEncryption>;

/**
 * Keeps first answers, some of which hold a token or a link, and what was asked, which may hold a password, from
 * whoever reads the database without the service's key.
 */
export const createResponseEncryption = (secretKey: string) => {
  const keyFor = (purpose: string): Buffer =>
    Buffer.from(hkdfSync('sha256', secretKey, '', `steward idempotent ${purpose}`, KEY_BYTES));
  const answerKey = keyFor('answers');
  const requestKey = keyFor('requests');

  return {
    /** Hexadecimal, 64 characters: tells whether two requests are the same, and nothing else. */
    fingerprint: (request: string): string => createHmac('sha256', requestKey).update(request).digest('hex'),

    /** @param place whom and what the answer is for: elsewhere it does not open */
    seal: async (answer: string, place: string): Promise<Buffer> => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, answerKey, nonce).setAAD(Buffer.from(place));
      const sealed = [cipher.update(await deflated(answer)), cipher.final()];
      return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
    },

    /** @throws Error when the answer was sealed for another place, or by another key */
    open: async (sealed: Uint8Array, place: string): Promise<string> => {
      const nonce = sealed.subarray(0, NONCE_BYTES);
      const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv(CIPHER, answerKey, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place)).setAuthTag(tag);
      const opened = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
      decipher.final(); // it has no more bytes in this mode, but the verdict on those
      return (opened[0] === DEFLATED ? await inThread.inflate(opened) : opened).toString('utf8');
    },
  };
};

const deflated = async (answer: string): Promise<Buffer> => {
  const bytes = Buffer.from(answer);
  if (answer.length < COMPRESSED_FROM_CHARS) return bytes;
  return inThread.deflate(bytes, { level: constants.Z_BEST_SPEED });
};
