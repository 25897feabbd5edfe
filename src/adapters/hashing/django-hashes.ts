import { createHash, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import bcrypt from 'bcrypt';
import { readArgon2Hash } from './argon2-hash.ts';
import type { ReadHash } from './password-hasher.ts';

/** Reads a password hash in a format of Django's hashers; null for any other text, such as `!…`. */
export const readDjangoHash = (encoded: string): ReadHash =>
  readPbkdf2Hash(encoded) ??
  readBcryptHash(encoded) ??
  readScryptHash(encoded) ??
  (encoded.startsWith('argon2') ? readArgon2Hash(encoded.slice('argon2'.length)) : null);

const derivePbkdf2 = promisify(pbkdf2);

/** `pbkdf2_sha256$1000000$salt$base64`; the salt is any text without a `$`. */
const PBKDF2 = /^pbkdf2_(sha256|sha1)\$([1-9]\d*)\$([^$]+)\$([A-Za-z0-9+/]{27,43}=)$/;
const DIGESTS = {
  sha256: { bytes: 32, iterationsPerMs: 3_400 },
  sha1: { bytes: 20, iterationsPerMs: 6_000 },
};
/** Ten times the iterations of Django 5.2: about 3 s of SHA-256. */
const MAX_ITERATIONS = 10_000_000;

const readPbkdf2Hash = (encoded: string): ReadHash => {
  const [, name, count, salt = '', digest = ''] = PBKDF2.exec(encoded) ?? [];
  if (name !== 'sha256' && name !== 'sha1') return null;
  const { bytes, iterationsPerMs } = DIGESTS[name];
  const expected = Buffer.from(digest, 'base64');
  if (expected.length !== bytes) return null;
  const iterations = Number(count);
  if (iterations > MAX_ITERATIONS) return { tooCostly: 'more than 10,000,000 iterations' };
  return {
    family: `pbkdf2_${name}`,
    units: iterations,
    costMs: iterations / iterationsPerMs,
    verify: async (password) =>
      timingSafeEqual(await derivePbkdf2(password, salt, iterations, bytes, name), expected),
  };
};

/** A hash that matches no password, with this number of iterations. */
export const pbkdf2Decoy = (family: string, iterations: number): string => {
  const { bytes } = family === 'pbkdf2_sha1' ? DIGESTS.sha1 : DIGESTS.sha256;
  return `${family}$${iterations}$salt$${Buffer.alloc(bytes).toString('base64')}`;
};

/** `bcrypt_sha256$$2b$12$`, 22 characters of salt and 31 of hash. */
const BCRYPT = /^bcrypt(_sha256)?\$\$2[aby]\$(\d\d)\$([./A-Za-z0-9]{22})([./A-Za-z0-9]{31})$/;
const ROUNDS_PER_MS = 16;
/** The format's minimum. The maximum is eight times Django's cost: about 2 s. */
const MIN_BCRYPT_COST = 4;
const MAX_BCRYPT_COST = 15;

/**
 * `bcrypt_sha256` hashes the hexadecimal SHA-256 of the password, because bcrypt stops at a NUL and after 72 bytes. The versions
 * 2a, 2b and 2y give the same hash for such short texts; the library supports only the first two.
 */
const readBcryptHash = (encoded: string): ReadHash => {
  const match = BCRYPT.exec(encoded);
  if (!match) return null;
  const [, isPrehashed, cost = '', salt = '', digest = ''] = match;
  if (Number(cost) < MIN_BCRYPT_COST) return null;
  if (Number(cost) > MAX_BCRYPT_COST) return { tooCostly: 'more than cost 15 of bcrypt' };
  const settings = `$2b$${cost}$${salt}`;
  const rounds = 2 ** Number(cost);
  return {
    family: 'bcrypt',
    units: rounds,
    costMs: rounds / ROUNDS_PER_MS,
    verify: async (password) => {
      const input = isPrehashed ? createHash('sha256').update(password).digest('hex') : password;
      const hash = await bcrypt.hash(input, settings);
      // The library's own comparison stops at the first difference.
      return timingSafeEqual(Buffer.from(hash.slice(settings.length)), Buffer.from(digest));
    },
  };
};

/** Hashes that match no password and take this number of rounds together: one for each power of two. */
export const bcryptDecoys = (rounds: number): string[] => {
  const decoys: string[] = [];
  for (let cost = MIN_BCRYPT_COST; cost <= MAX_BCRYPT_COST; cost += 1) {
    if ((rounds & (2 ** cost)) === 0) continue;
    decoys.push(`bcrypt$$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(22 + 31)}`);
  }
  return decoys;
};

/** `scrypt$16384$salt$8$5$base64`: the memory cost N, the salt, the block size r, the parallelism p, 64 bytes. */
const SCRYPT = /^scrypt\$([1-9]\d*)\$([^$]+)\$([1-9]\d*)\$([1-9]\d*)\$([A-Za-z0-9+/]{86}==)$/;
const SCRYPT_BYTES = 64;
const SCRYPT_KIB_PER_MS = 350;
/** As for argon2: 256 MiB (Django uses 16), and 1 GiB filled by all lanes together (Django: 80 MiB), about 3 s. */
const MAX_SCRYPT_MEMORY_KIB = 256 * 1024;
const MAX_SCRYPT_FILLED_KIB = 1024 * 1024;
const SCRYPT_TOO_COSTLY = {
  tooCostly: 'more than 256 MiB of memory, or a GiB in all lanes of scrypt together',
};

const readScryptHash = (encoded: string): ReadHash => {
  const [, n, salt = '', r, p, digest = ''] = SCRYPT.exec(encoded) ?? [];
  const [N, blockSize, lanes] = [Number(n), Number(r), Number(p)];
  // Without a match they are NaN. RFC 7914 §2: N is a power of two, and larger than 1.
  if (!(N > 1) || !Number.isInteger(Math.log2(N))) return null;
  const memoryKib = (128 * N * blockSize) / 1024;
  const filledKib = memoryKib * lanes;
  if (!(memoryKib <= MAX_SCRYPT_MEMORY_KIB && filledKib <= MAX_SCRYPT_FILLED_KIB)) return SCRYPT_TOO_COSTLY;

  const expected = Buffer.from(digest, 'base64');
  // Each lane needs 128 * r bytes; only one at a time also needs the memory of N.
  const options = { N, r: blockSize, p: lanes, maxmem: 128 * blockSize * (N + lanes + 2) };
  return {
    family: `scrypt$${N}$${blockSize}$${lanes}`,
    units: 1,
    costMs: filledKib / SCRYPT_KIB_PER_MS,
    verify: (password) =>
      new Promise((resolve, reject) => {
        scrypt(password, salt, SCRYPT_BYTES, options, (error, derived) =>
          error ? reject(error) : resolve(timingSafeEqual(derived, expected)),
        );
      }),
  };
};

/** A hash that matches no password, with the costs in `scrypt$N$r$p`. */
export const scryptDecoy = (family: string): string => {
  const [, n, r, p] = family.split('$');
  return `scrypt$${n}$salt$${r}$${p}$${Buffer.alloc(SCRYPT_BYTES).toString('base64')}`;
};
