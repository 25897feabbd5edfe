import type { CommonPasswords } from '../../adapters/hashing/common-passwords.ts';
import { invalid } from '../../lib/problems.ts';
import type { PasswordPolicy } from './password-policy.ts';
import { containsPersonalData, countCodePoints, foldText, type Person } from './personal-data.ts';

/** In code points, like the limit of the login: a longer password could be set, but not used. */
export const MAX_PASSWORD_LENGTH = 1024;

export type CheckedRule = { rule: string; message: string; passed: boolean };

type Common = Pick<CommonPasswords, 'has'>;
type Candidate = { policy: PasswordPolicy; password: string; person: Person; common: Common };

type Rule = {
  rule: string;
  /** Shown before and after a password is entered; false if the policy does not include the rule. */
  message: (policy: PasswordPolicy) => string | false;
  isMet: (candidate: Candidate) => boolean;
};

/** In display order. */
const RULES: readonly Rule[] = [
  {
    rule: 'min_length',
    message: ({ minLength }) => `At least ${minLength} ${minLength === 1 ? 'character' : 'characters'}.`,
    isMet: ({ policy, password }) => countCodePoints(password) >= policy.minLength,
  },
  {
    rule: 'max_length',
    message: () => `At most ${MAX_PASSWORD_LENGTH} characters.`,
    isMet: ({ password }) => countCodePoints(password) <= MAX_PASSWORD_LENGTH,
  },
  {
    rule: 'numeric',
    message: ({ requireNumeric }) => requireNumeric && 'At least one digit.',
    isMet: ({ password }) => /\p{Nd}/u.test(password),
  },
  {
    rule: 'upper',
    message: ({ requireUpper }) => requireUpper && 'At least one upper-case letter.',
    isMet: ({ password }) => /\p{Lu}/u.test(password),
  },
  {
    rule: 'lower',
    message: ({ requireLower }) => requireLower && 'At least one lower-case letter.',
    isMet: ({ password }) => /\p{Ll}/u.test(password),
  },
  {
    rule: 'special',
    message: ({ requireSpecial }) =>
      requireSpecial && 'At least one special character, such as ! or # (spaces do not count).',
    // Spaces are allowed but do not count: they are invisible at the end, and clients trim them. Other invisible
    // characters do not count either: \p{C} is control, format, surrogate, private use and unassigned.
    isMet: ({ password }) => /[^\p{L}\p{M}\p{Nd}\p{Z}\p{C}]/u.test(password),
  },
  {
    rule: 'common',
    message: ({ allowCommon }) =>
      !allowCommon && 'Must not be a common password, even with digits or symbols added.',
    isMet: ({ password, common }) => !common.has(foldText(truncate(password))),
  },
  {
    rule: 'personal',
    message: ({ allowCommon }) =>
      !allowCommon && 'Must not contain your name or email address, even reversed.',
    isMet: ({ password, person }) => !containsPersonalData(truncate(password), person),
  },
  {
    rule: 'characters',
    message: () => 'Must not contain invalid characters.',
    // UTF-8 has no lone surrogates: all would be hashed as the same replacement character.
    isMet: ({ password }) => password.isWellFormed() && !password.includes('\0'),
  },
];

/** Lists the rules of a policy, to be shown before a password is entered. */
export const passwordRules = (policy: PasswordPolicy): { rule: string; message: string }[] =>
  activeRules(policy).map(({ rule, message }) => ({ rule, message }));

/**
 * Checks a password against every rule of the policy, in display order. It is checked as typed, which is how it will be
 * hashed; only the comparisons with common passwords and names ignore case and accents.
 */
export const checkPassword = (policy: PasswordPolicy, password: string, person: Person, common: Common) =>
  activeRules(policy).map(({ rule, message, isMet }) => ({
    rule,
    message,
    passed: isMet({ policy, password, person, common }),
  }));

/** @throws Problem `invalid-input` on `field`, with the messages of all rules that the password does not meet */
export const rejectWeakPassword = (
  policy: PasswordPolicy,
  password: string,
  person: Person,
  common: Common,
  field = 'password',
): void => {
  const failed = checkPassword(policy, password, person, common).filter(({ passed }) => !passed);
  if (failed.length > 0) throw invalid({ [field]: failed.map(({ message }) => message) });
};

const activeRules = (policy: PasswordPolicy): (Omit<Rule, 'message'> & { message: string })[] =>
  RULES.flatMap((rule) => {
    const message = rule.message(policy);
    return message === false ? [] : [{ ...rule, message }];
  });

/** Bounds the comparisons. Keeps every password of valid length, since a code point has at most two UTF-16 units. */
const truncate = (password: string): string => password.slice(0, 2 * MAX_PASSWORD_LENGTH);
