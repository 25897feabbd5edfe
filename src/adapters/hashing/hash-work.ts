import { argon2Decoy, readArgon2Hash } from './argon2-hash.ts';
import { bcryptDecoys, pbkdf2Decoy, readDjangoHash, scryptDecoy } from './django-hashes.ts';
import { isCheck, type PasswordCheck, type ReadHash } from './password-hasher.ts';

export const readHash = (hash: string): ReadHash => readArgon2Hash(hash) ?? readDjangoHash(hash);

/**
 * The checks that a failed login has to do after its first one, so that all failed logins do the same work: one check of every
 * family in use, with the most units in use. Django calls this `harden_runtime`.
 * @param kinds hashes without their salts and digests: `pbkdf2_sha256$1000000`. Unknown ones are ignored.
 */
export const remainingWork = (kinds: readonly string[], done: PasswordCheck | null): PasswordCheck[] => {
  const units = new Map<string, number>();
  for (const check of kinds.flatMap(checksOfKind)) {
    units.set(check.family, Math.max(check.units, units.get(check.family) ?? 0));
  }
  if (done) units.set(done.family, (units.get(done.family) ?? 0) - done.units);
  return [...units].flatMap(([family, left]) => (left > 0 ? decoyChecks(family, left) : []));
};

/** Time of a failed login on one core, in milliseconds, while hashes of these kinds are in use. */
export const failureCostMs = (kinds: readonly string[]): number =>
  remainingWork(kinds, null).reduce((sum, { costMs }) => sum + costMs, 0);

/** Why no password could ever be verified with this hash; null for a supported hash. */
export const reasonAgainstHash = (hash: string): string | null => {
  const read = readHash(hash);
  if (read === null) return 'This format cannot be verified.';
  return isCheck(read) ? null : `Would make each login too expensive: ${read.tooCostly}.`;
};

const checksOfKind = (kind: string): PasswordCheck[] => {
  const [name = '', count = ''] = kind.split('$');
  if (name.startsWith('pbkdf2')) return checksOf([pbkdf2Decoy(name, Number(count))]);
  if (name.startsWith('bcrypt')) return checksOf(bcryptDecoys(2 ** Number(kind.slice(-2))));
  if (name === 'scrypt') return checksOf([scryptDecoy(kind)]);
  // Django adds the prefix `argon2` to the library's format.
  return checksOf([argon2Decoy(kind.replace(/^argon2/, ''))]);
};

const decoyChecks = (family: string, units: number): PasswordCheck[] => {
  if (family.startsWith('pbkdf2')) return checksOf([pbkdf2Decoy(family, units)]);
  return family === 'bcrypt' ? checksOf(bcryptDecoys(units)) : checksOfKind(family);
};

const checksOf = (hashes: string[]): PasswordCheck[] => hashes.map(readHash).filter(isCheck);
