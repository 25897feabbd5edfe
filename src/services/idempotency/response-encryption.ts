import { createHmac } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, deflate, inflate } from 'node:zlib';
import { createSealedBox, deriveKey } from '../../lib/sealed-box.ts';

/**
 * Compression shrinks bulk responses of several MiB to a tenth. Short responses stay uncompressed: the length of compressed data reveals
 * repeated secrets.
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
 * Encrypts stored responses, which may contain tokens or links, and fingerprints requests, which may contain passwords: reading the
 * database without the service's key reveals neither.
 */
export const createResponseEncryption = (secretKey: string) => {
  const keyFor = (purpose: string): Buffer => deriveKey(secretKey, `steward idempotent ${purpose}`);
  const box = createSealedBox(keyFor('answers'));
  const requestKey = keyFor('requests');

  return {
    /** 64 hexadecimal characters; equal for equal requests. */
    fingerprint: (request: string): string => createHmac('sha256', requestKey).update(request).digest('hex'),

    /** @param context user and key of the response, authenticated with it: other contexts cannot open it */
    seal: async (response: string, context: string): Promise<Buffer> =>
      box.seal(await compress(response), context),

    /** @throws Error if the response was sealed for another context, or with another key */
    open: async (sealed: Uint8Array, context: string): Promise<string> => {
      const opened = box.open(sealed, context);
      return (opened[0] === DEFLATED ? await zlibAsync.inflate(opened) : opened).toString('utf8');
    },
  };
};

const compress = async (response: string): Promise<Buffer> => {
  const bytes = Buffer.from(response);
  if (response.length < MIN_COMPRESSED_CHARS) return bytes;
  return zlibAsync.deflate(bytes, { level: constants.Z_BEST_SPEED });
};
