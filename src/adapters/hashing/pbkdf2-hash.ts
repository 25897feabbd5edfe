import { pbkdf2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { ReadHash } from './password-check.ts';

const derive = promisify(pbkdf2);

/** `pbkdf2_sha256$1000000$salt$base64`; the salt is any text without a `$`. */
const FORM = /^pbkdf2_(sha256|sha1)\$([1-9]\d*)\$([^$]+)\$([A-Za-z0-9+/]{27,43}=)$/;
const DIGESTS = {
  sha256: { bytes: 32, iterationsPerMs: 3_400 },
  sha1: { bytes: 20, iterationsPerMs: 6_000 },
};
/** Ten times what Django 5.2 does: about 3 s of SHA-256. */
const MAX_ITERATIONS = 10_000_000;
const TOO_COSTLY = { tooCostly: 'more than 10,000,000 iterations' };

/** What Django's `PBKDF2PasswordHasher` and `PBKDF2SHA1PasswordHasher` write. */
export const readPbkdf2Hash = (encoded: string): ReadHash => {
  const [, name, count, salt = '', digest = ''] = FORM.exec(encoded) ?? [];
  if (name !== 'sha256' && name !== 'sha1') return null;
  const { bytes, iterationsPerMs } = DIGESTS[name];
  const expected = Buffer.from(digest, 'base64');
  if (expected.length !== bytes) return null;
  const iterations = Number(count);
  if (iterations > MAX_ITERATIONS) return TOO_COSTLY;
  return {
    family: `pbkdf2_${name}`,
    units: iterations,
    costMs: iterations / iterationsPerMs,
    verify: async (password) =>
      timingSafeEqual(await derive(password, salt, iterations, bytes, name), expected),
  };
};

/** A hash of no password, which takes as many iterations. */
export const pbkdf2Decoy = (family: string, iterations: number): string =>
  `${family}$${iterations}$salt$${Buffer.alloc(family === 'pbkdf2_sha1' ? DIGESTS.sha1.bytes : DIGESTS.sha256.bytes).toString('base64')}`;
