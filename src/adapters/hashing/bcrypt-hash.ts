import { createHash, timingSafeEqual } from 'node:crypto';
import bcrypt from 'bcrypt';
import type { ReadHash } from './password-check.ts';

/** `bcrypt_sha256$$2b$12$`, 22 characters of salt and 31 of hash. */
const FORM = /^bcrypt(_sha256)?\$\$2[aby]\$(\d\d)\$([./A-Za-z0-9]{22})([./A-Za-z0-9]{31})$/;
const ROUNDS_PER_MS = 16;
/** The format's own minimum. The maximum is eight times what Django does: about 2 s. */
const MIN_COST = 4;
const MAX_COST = 15;
const TOO_COSTLY = { tooCostly: 'more than cost 15 of bcrypt' };

/**
 * What Django's `BCryptSHA256PasswordHasher` and `BCryptPasswordHasher` write. The first one hashes the password's
 * SHA-256 in hexadecimal, since bcrypt ends at a NUL and at 72 bytes. The versions 2a, 2b and 2y make the same hash of
 * texts that short, and the library knows only the first two.
 */
export const readBcryptHash = (encoded: string): ReadHash => {
  const match = FORM.exec(encoded);
  if (!match) return null;
  const [, isPrehashed, cost = '', salt = '', digest = ''] = match;
  if (Number(cost) < MIN_COST) return null;
  if (Number(cost) > MAX_COST) return TOO_COSTLY;
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

/** Hashes of no password, which take as many rounds together: one for each power of two. */
export const bcryptDecoys = (rounds: number): string[] => {
  const decoys: string[] = [];
  for (let cost = MIN_COST; cost <= MAX_COST; cost += 1) {
    if ((rounds & (2 ** cost)) === 0) continue;
    decoys.push(`bcrypt$$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(22 + 31)}`);
  }
  return decoys;
};
