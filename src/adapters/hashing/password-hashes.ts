import {
  type BinaryLike,
  createHash,
  pbkdf2,
  type ScryptOptions,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { promisify } from 'node:util';
import argon2 from 'argon2';
import bcrypt from 'bcrypt';

/** A supported hash, and the cost of verifying a password against it. */
export type PasswordCheck = {
  /** The name of the algorithm. */
  algorithm: string;
  /** A rough estimate, on one core of 2026. */
  costMs: number;
  verify(password: string): Promise<boolean>;
};

/** null: not a hash of this format. `tooCostly`: a hash that would make one login too expensive. */
type ReadHash = PasswordCheck | { tooCostly: string } | null;

export const isCheck = (read: ReadHash): read is PasswordCheck => read !== null && 'verify' in read;

/** Memory in KiB, passes over it, and lanes. */
export type Argon2Cost = { memoryCost: number; timeCost: number; parallelism: number };

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane; about 40 ms. */
export const COST: Argon2Cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

const KIB_PER_MS = 850;
/**
 * Limits of one login: 256 MiB (Django uses 100), 1 GiB filled in all passes together, which takes 1.3 s, and 16 lanes, because
 * each is a thread. Passes have a separate limit, because each starts its threads again.
 */
const MAX_MEMORY_KIB = 256 * 1024;
const MAX_FILLED_KIB = 1024 * 1024;
const MAX_PASSES = 16;
const MAX_LANES = 16;
/** RFC 9106 §3.1 */
const MIN_KIB_PER_LANE = 8;

/** A salt of 8 to 64 bytes and a hash of 12 to 64, in base64 without padding. */
const FORM =
  /^\$(argon2(?:id|i|d))(?:\$v=(?:16|19))?\$([mtp]=\d+),([mtp]=\d+),([mtp]=\d+)\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,86}$/;
const TOO_COSTLY = {
  tooCostly: 'more than 256 MiB, 16 passes or 16 lanes of argon2, or a GiB in all passes together',
};

/** Reads the argon2 library's format, of any variant. */
export const readArgon2Hash = (encoded: string): ReadHash => {
  const [, algorithm = '', ...costs] = FORM.exec(encoded) ?? [];
  const costOf = (name: string): number =>
    Number(costs.find((cost) => cost.startsWith(name))?.slice(2) ?? Number.NaN);
  const [memoryKib, passes, lanes] = [costOf('m'), costOf('t'), costOf('p')];

  // A missing cost is NaN.
  if (!(lanes >= 1 && passes >= 1 && memoryKib >= lanes * MIN_KIB_PER_LANE)) return null;
  const isAffordable =
    lanes <= MAX_LANES &&
    passes <= MAX_PASSES &&
    memoryKib <= MAX_MEMORY_KIB &&
    memoryKib * passes <= MAX_FILLED_KIB;
  if (!isAffordable) return TOO_COSTLY;
  return {
    algorithm,
    costMs: (memoryKib * passes) / KIB_PER_MS,
    verify: (password) => argon2.verify(encoded, password),
  };
};

export const makeArgon2Hash = (password: string, cost: Argon2Cost): Promise<string> =>
  argon2.hash(password, { type: argon2.argon2id, ...cost });

/** Whether `makeArgon2Hash` would use another variant or cost. */
export const isOutdatedArgon2Hash = (encoded: string, cost: Argon2Cost): boolean =>
  !encoded.startsWith('$argon2id$') || argon2.needsRehash(encoded, cost);

/** Reads a password hash in a format of Django's hashers; null for any other text, such as `!…`. */
export const readDjangoHash = (encoded: string): ReadHash =>
  readPbkdf2Hash(encoded) ??
  readBcryptHash(encoded) ??
  readScryptHash(encoded) ??
  (encoded.startsWith('argon2') ? readArgon2Hash(encoded.slice('argon2'.length)) : null);

const derivePbkdf2 = promisify(pbkdf2);

/** `pbkdf2_sha256$1000000$salt$base64`; the salt is any text without a `$`. */
const PBKDF2 = /^pbkdf2_sha256\$([1-9]\d*)\$([^$]+)\$([A-Za-z0-9+/]{43}=)$/;
const SHA256_BYTES = 32;
const ITERATIONS_PER_MS = 3_400;
/** Ten times the iterations of Django 5.2: about 3 s. */
const MAX_ITERATIONS = 10_000_000;

const readPbkdf2Hash = (encoded: string): ReadHash => {
  const match = PBKDF2.exec(encoded);
  if (!match) return null;
  const [, count, salt = '', digest = ''] = match;
  const expected = Buffer.from(digest, 'base64');
  const iterations = Number(count);
  if (iterations > MAX_ITERATIONS) return { tooCostly: 'more than 10,000,000 iterations' };
  return {
    algorithm: 'pbkdf2_sha256',
    costMs: iterations / ITERATIONS_PER_MS,
    verify: async (password) =>
      timingSafeEqual(await derivePbkdf2(password, salt, iterations, SHA256_BYTES, 'sha256'), expected),
  };
};

/** `bcrypt_sha256$$2b$12$`, 22 characters of salt and 31 of hash. */
const BCRYPT = /^bcrypt_sha256\$\$2[aby]\$(\d\d)\$([./A-Za-z0-9]{22})([./A-Za-z0-9]{31})$/;
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
  const [, cost = '', salt = '', digest = ''] = match;
  if (Number(cost) < MIN_BCRYPT_COST) return null;
  if (Number(cost) > MAX_BCRYPT_COST) return { tooCostly: 'more than cost 15 of bcrypt' };
  const settings = `$2b$${cost}$${salt}`;
  const rounds = 2 ** Number(cost);
  return {
    algorithm: 'bcrypt',
    costMs: rounds / ROUNDS_PER_MS,
    verify: async (password) => {
      const input = createHash('sha256').update(password).digest('hex');
      const hash = await bcrypt.hash(input, settings);
      // The library's own comparison stops at the first difference.
      return timingSafeEqual(Buffer.from(hash.slice(settings.length)), Buffer.from(digest));
    },
  };
};

/** `scrypt$16384$salt$8$5$base64`: the memory cost N, the salt, the block size r, the parallelism p, 64 bytes. */
const SCRYPT = /^scrypt\$([1-9]\d*)\$([^$]+)\$([1-9]\d*)\$([1-9]\d*)\$([A-Za-z0-9+/]{86}==)$/;
const SCRYPT_BYTES = 64;
const deriveScrypt = promisify<BinaryLike, BinaryLike, number, ScryptOptions, Buffer>(scrypt);
const SCRYPT_KIB_PER_MS = 350;
/** The limits of argon2: 256 MiB (Django uses 16), and 1 GiB filled by all lanes together (Django: 80 MiB), about 3 s. */
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
    algorithm: 'scrypt',
    costMs: filledKib / SCRYPT_KIB_PER_MS,
    verify: async (password) =>
      timingSafeEqual(await deriveScrypt(password, salt, SCRYPT_BYTES, options), expected),
  };
};

export const readHash = (hash: string): ReadHash => readArgon2Hash(hash) ?? readDjangoHash(hash);

/** Why no password can ever match this hash; null for a supported hash. */
export const reasonAgainstHash = (hash: string): string | null => {
  const read = readHash(hash);
  if (read === null) return 'This format cannot be verified.';
  return isCheck(read) ? null : `Would make each login too expensive: ${read.tooCostly}.`;
};
