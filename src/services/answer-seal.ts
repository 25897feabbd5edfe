import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { constants, deflateSync, inflateSync } from 'node:zlib';

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

export type AnswerSeal = ReturnType<typeof createAnswerSeal>;

/**
 * Keeps first answers, some of which hold a token or a link, and what was asked, which may hold a password, from
 * whoever reads the database without the service's key.
 */
export const createAnswerSeal = (secretKey: string) => {
  const keyFor = (purpose: string): Buffer =>
    Buffer.from(hkdfSync('sha256', secretKey, '', `steward idempotent ${purpose}`, KEY_BYTES));
  const answerKey = keyFor('answers');
  const requestKey = keyFor('requests');

  return {
    /** Hexadecimal, 64 characters: tells whether two requests are the same, and nothing else. */
    fingerprint: (request: string): string => createHmac('sha256', requestKey).update(request).digest('hex'),

    /** @param place whom and what the answer is for: elsewhere it does not open */
    seal: (answer: string, place: string): Buffer => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, answerKey, nonce).setAAD(Buffer.from(place));
      const sealed = [cipher.update(deflated(answer)), cipher.final()];
      return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
    },

    /** @throws Error when the answer was sealed for another place, or by another key */
    open: (sealed: Uint8Array, place: string): string => {
      const nonce = sealed.subarray(0, NONCE_BYTES);
      const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv(CIPHER, answerKey, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place)).setAuthTag(tag);
      const opened = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
      decipher.final(); // it has no more bytes in this mode, but the verdict on those
      return (opened[0] === DEFLATED ? inflateSync(opened) : opened).toString('utf8');
    },
  };
};

const deflated = (answer: string): Buffer =>
  answer.length < COMPRESSED_FROM_CHARS
    ? Buffer.from(answer)
    : deflateSync(answer, { level: constants.Z_BEST_SPEED });
