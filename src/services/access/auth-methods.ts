/**
 * How a person has logged in, by the names of RFC 8176: a password, a code of an app or a recovery code, a passkey whose key is bound to
 * hardware or kept in software, and `mfa` for more than one kind.
 */
export const AUTH_METHODS = ['pwd', 'otp', 'hwk', 'swk', 'mfa'] as const;

export type AuthMethod = (typeof AUTH_METHODS)[number];

export const BY_PASSWORD: readonly AuthMethod[] = ['pwd'];
export const BY_CODE: readonly AuthMethod[] = ['otp', 'mfa'];

/**
 * A passkey that has verified its user counts as two factors: the key, and the way the user unlocks it. Synchronized keys leave the
 * hardware.
 */
export const byPasskey = (isBackedUp: boolean): readonly AuthMethod[] => [isBackedUp ? 'swk' : 'hwk', 'mfa'];
/** Values of the claim `amr` that mean a second factor. */
const SECOND_FACTORS = ['mfa', 'otp', 'hwk', 'swk', 'sc'];

/** All names of RFC 8176. Others are dropped: they could be any text, and apps read them in tickets. */
const REGISTERED = [
  ...['face', 'fpt', 'geo', 'hwk', 'iris', 'kba', 'mca', 'mfa', 'otp', 'pin', 'pwd'],
  ...['rba', 'retina', 'sc', 'sms', 'swk', 'tel', 'user', 'vbm', 'wia'],
];

/** The methods of a login by single sign-on: `sso`, and the ones that the identity provider states in `amr`. */
export const byProvider = (amr: readonly string[]): string[] => {
  const stated = amr.filter((method) => REGISTERED.includes(method));
  const hasFactor = stated.some((method) => SECOND_FACTORS.includes(method));
  return addMethods(['sso', ...stated], hasFactor ? ['mfa'] : []);
};

export const BY_BOTH: readonly AuthMethod[] = [...BY_PASSWORD, ...BY_CODE];

/** What a session proves about its user. */
export type SessionProof = { methods: readonly string[]; authTime: Date };

/** The methods of a session after a further proof, without repeats. */
export const addMethods = <Known extends string>(
  known: readonly Known[],
  added: readonly AuthMethod[],
): (Known | AuthMethod)[] => [...new Set<Known | AuthMethod>([...known, ...added])];
