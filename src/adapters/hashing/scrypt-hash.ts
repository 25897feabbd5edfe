import { scrypt, timingSafeEqual } from 'node:crypto';
import type { ReadHash } from './password-check.ts';

/** `scrypt$16384$salt$8$5$base64`: the memory cost N, the salt, the block size r, the parallelism p, 64 bytes. */
const FORM = /^scrypt\$([1-9]\d*)\$([^$]+)\$([1-9]\d*)\$([1-9]\d*)\$([A-Za-z0-9+/]{86}==)$/;
const DIGEST_BYTES = 64;
/** What scrypt fills of memory in a millisecond. */
const KIB_PER_MS = 350;
/** As for argon2: 256 MiB (Django takes 16), and a GiB filled by all lanes together (Django: 80 MiB), about 3 s. */
const MAX_MEMORY_KIB = 256 * 1024;
const MAX_FILLED_KIB = 1024 * 1024;
const TOO_COSTLY = { tooCostly: 'more than 256 MiB of memory, or a GiB in all lanes of scrypt together' };

/** What Django's `ScryptPasswordHasher` writes. */
export const readScryptHash = (encoded: string): ReadHash => {
  const [, n, salt = '', r, p, digest = ''] = FORM.exec(encoded) ?? [];
  const [N, blockSize, lanes] = [Number(n), Number(r), Number(p)];
  // Without a match they are NaN. RFC 7914 §2: N is a power of two, and larger than 1.
  if (!(N > 1) || !Number.isInteger(Math.log2(N))) return null;
  const memoryKib = (128 * N * blockSize) / 1024;
  const filledKib = memoryKib * lanes;
  if (!(memoryKib <= MAX_MEMORY_KIB && filledKib <= MAX_FILLED_KIB)) return TOO_COSTLY;

  const expected = Buffer.from(digest, 'base64');
  // All lanes have 128 * r bytes beside the memory of the one at work.
  const options = { N, r: blockSize, p: lanes, maxmem: 128 * blockSize * (N + lanes + 2) };
  return {
    family: `scrypt$${N}$${blockSize}$${lanes}`,
    units: 1,
    costMs: filledKib / KIB_PER_MS,
    verify: (password) =>
      new Promise((resolve, reject) => {
        scrypt(password, salt, DIGEST_BYTES, options, (error, derived) =>
          error ? reject(error) : resolve(timingSafeEqual(derived, expected)),
        );
      }),
  };
};

/** A hash of no password, of the costs that `scrypt$N$r$p` names. */
export const scryptDecoy = (family: string): string => {
  const [, n, r, p] = family.split('$');
  return `scrypt$${n}$salt$${r}$${p}$${Buffer.alloc(DIGEST_BYTES).toString('base64')}`;
};
