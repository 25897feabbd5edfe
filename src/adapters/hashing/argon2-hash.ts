import argon2 from 'argon2';
import type { ReadHash } from './password-hasher.ts';

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
  /^(\$argon2(?:id|i|d)(?:\$v=(?:16|19))?\$([mtp]=\d+),([mtp]=\d+),([mtp]=\d+))\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,86}$/;
const TOO_COSTLY = {
  tooCostly: 'more than 256 MiB, 16 passes or 16 lanes of argon2, or a GiB in all passes together',
};

/** Reads the argon2 library's format, of any variant. */
export const readArgon2Hash = (encoded: string): ReadHash => {
  const [, family = '', ...costs] = FORM.exec(encoded) ?? [];
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
    family,
    units: 1,
    costMs: (memoryKib * passes) / KIB_PER_MS,
    verify: (password) => argon2.verify(encoded, password),
  };
};

/** A hash that matches no password, with the variant and the costs of the family. */
export const argon2Decoy = (family: string): string => `${family}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

export const makeArgon2Hash = (password: string, cost: Argon2Cost): Promise<string> =>
  argon2.hash(password, { type: argon2.argon2id, ...cost });

/** Whether `makeArgon2Hash` would use another variant or cost. */
export const isOutdatedArgon2Hash = (encoded: string, cost: Argon2Cost): boolean =>
  !encoded.startsWith('$argon2id$') || argon2.needsRehash(encoded, cost);
