import { createHash, pbkdf2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import bcrypt from 'bcrypt';
import { type PasswordCheck, readArgon2Hash } from './argon2-hash.ts';

/**
 * A password hash as Django's `PBKDF2PasswordHasher`, `Argon2PasswordHasher` and `BCryptSHA256PasswordHasher` write
 * it; null for anything else, an unusable password (`!…`) included, and for one that would cost a login too much.
 */
export const readDjangoHash = (encoded: string): PasswordCheck | null =>
  readPbkdf2(encoded) ?? readBcrypt(encoded) ?? readPrefixedArgon2(encoded);

const derive = promisify(pbkdf2);

/** `pbkdf2_sha256$1000000$salt$base64`; the salt is any text without a `$`. */
const PBKDF2_FORM = /^pbkdf2_sha256\$([1-9]\d{0,8})\$([^$]+)\$([A-Za-z0-9+/]{43}=)$/;
const ITERATIONS_PER_MS = 3_400;
/** Ten times what Django 5.2 does: about 3 s. */
const MAX_ITERATIONS = 10_000_000;

const readPbkdf2 = (encoded: string): PasswordCheck | null => {
  const [, count, salt = '', digest = ''] = PBKDF2_FORM.exec(encoded) ?? [];
  const iterations = Number(count);
  // Without a match it is NaN, and within no bounds.
  if (!(iterations <= MAX_ITERATIONS)) return null;
  const expected = Buffer.from(digest, 'base64');
  return {
    costMs: iterations / ITERATIONS_PER_MS,
    verify: async (password) =>
      timingSafeEqual(await derive(password, salt, iterations, expected.length, 'sha256'), expected),
  };
};

/** `bcrypt_sha256$$2b$12$`, 22 characters of salt and 31 of hash. */
const BCRYPT_FORM = /^bcrypt_sha256\$\$2[aby]\$(\d\d)\$([./A-Za-z0-9]{22})([./A-Za-z0-9]{31})$/;
const ROUNDS_PER_MS = 16;
/** The format's own least; the most is eight times what Django does: about 2 s. */
const MIN_BCRYPT_COST = 4;
const MAX_BCRYPT_COST = 15;

/**
 * bcrypt ends at a NUL and at 72 bytes, so Django gives it the password's SHA-256 in hexadecimal. Of such short ASCII
 * the versions 2a, 2b and 2y make the same hash, and the library knows only the first two.
 */
const readBcrypt = (encoded: string): PasswordCheck | null => {
  const [, cost = '', salt = '', digest = ''] = BCRYPT_FORM.exec(encoded) ?? [];
  if (!(Number(cost) >= MIN_BCRYPT_COST && Number(cost) <= MAX_BCRYPT_COST)) return null;
  const settings = `$2b$${cost}$${salt}`;
  return {
    costMs: 2 ** Number(cost) / ROUNDS_PER_MS,
    verify: async (password) => {
      const hash = await bcrypt.hash(createHash('sha256').update(password).digest('hex'), settings);
      // The library's own comparison stops at the first difference.
      return timingSafeEqual(Buffer.from(hash.slice(settings.length)), Buffer.from(digest));
    },
  };
};

const ARGON2_PREFIX = 'argon2';

const readPrefixedArgon2 = (encoded: string): PasswordCheck | null =>
  encoded.startsWith(ARGON2_PREFIX) ? readArgon2Hash(encoded.slice(ARGON2_PREFIX.length)) : null;
