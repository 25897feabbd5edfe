import argon2 from 'argon2';
import type { ReadHash } from './password-check.ts';

/** Memory in KiB, passes over it, and lanes. */
export type Argon2Cost = { memoryCost: number; timeCost: number; parallelism: number };

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane; about 40 ms. */
export const COST: Argon2Cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** What argon2 fills of memory in a millisecond. */
const KIB_PER_MS = 850;
/**
 * The most that one login may cost: 256 MiB (Django takes 100), a GiB filled in all passes together, which is 1.3 s,
 * and 16 lanes, as each is a thread. Every pass starts its threads anew, so their number has a bound of its own.
 */
const MAX_MEMORY_KIB = 256 * 1024;
const MAX_FILLED_KIB = 1024 * 1024;
const MAX_PASSES = 16;
const MAX_LANES = 16;
/** RFC 9106 §3.1 */
const MIN_KIB_PER_LANE = 8;

/** A salt of 8 to 64 bytes and a hash of 12 to 64, in base64 without padding. */
const FORM =
  /^(\$argon2(?:id|i|d)(?:\$v=(?:16|19))?\$([mtp]=\d+),([mtp]=\d+),([mtp]=\d+))\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,86}$/;
const TOO_COSTLY = {
  tooCostly: 'more than 256 MiB, 16 passes or 16 lanes of argon2, or a GiB in all passes together',
};

/** The form of the argon2 library itself, of any variant; null for anything else. */
export const readArgon2Hash = (encoded: string): ReadHash => {
  const [, family = '', ...costs] = FORM.exec(encoded) ?? [];
  const costOf = (name: string): number =>
    Number(costs.find((cost) => cost.startsWith(name))?.slice(2) ?? Number.NaN);
  const [memoryKib, passes, lanes] = [costOf('m'), costOf('t'), costOf('p')];

  // A cost that is missing is NaN.
  if (!(lanes >= 1 && passes >= 1 && memoryKib >= lanes * MIN_KIB_PER_LANE)) return null;
  const isAffordable =
    lanes <= MAX_LANES &&
    passes <= MAX_PASSES &&
    memoryKib <= MAX_MEMORY_KIB &&
    memoryKib * passes <= MAX_FILLED_KIB;
  if (!isAffordable) return TOO_COSTLY;
  return {
    family,
    units: 1,
    costMs: (memoryKib * passes) / KIB_PER_MS,
    verify: (password) => argon2.verify(encoded, password),
  };
};

/** A hash of no password, of the variant and the costs that the family names. */
export const argon2Decoy = (family: string): string => `${family}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

export const makeArgon2Hash = (password: string, cost: Argon2Cost): Promise<string> =>
  argon2.hash(password, { type: argon2.argon2id, ...cost });

/** Whether a hash that `readArgon2Hash` understands is not as `makeArgon2Hash` would make it. */
export const isOutdatedArgon2Hash = (encoded: string, cost: Argon2Cost): boolean =>
  !encoded.startsWith('$argon2id$') || argon2.needsRehash(encoded, cost);
