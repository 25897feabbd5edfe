import type { CommonPasswords } from '../adapters/common-passwords.ts';
import { invalid } from '../core/problems.ts';
import { folded, namesOwner, type Person } from './password-owner.ts';

export type { Person };

export type PasswordPolicy = {
  minLength: number;
  allowCommon: boolean;
  requireNumeric: boolean;
  requireUpper: boolean;
  requireLower: boolean;
  requireSpecial: boolean;
  /** 0: never */
  expirationDays: number;
};

export type PasswordRule =
  | 'min_length'
  | 'max_length'
  | 'numeric'
  | 'upper'
  | 'lower'
  | 'special'
  | 'common'
  | 'personal'
  | 'characters';

export type CheckedRule = { rule: PasswordRule; message: string; passed: boolean };

/** In code points, as the login counts: nobody may set what they cannot log in with. */
export const MAX_PASSWORD_LENGTH = 1024;

/** What a new client starts with, and what holds for people of no client. */
const DEFAULT_POLICY: PasswordPolicy = {
  minLength: 8,
  allowCommon: false,
  requireNumeric: false,
  requireUpper: false,
  requireLower: false,
  requireSpecial: false,
  expirationDays: 0,
};

/** The policy that meets all of these: what somebody who belongs to several clients has to keep. */
export const strictest = (policies: readonly PasswordPolicy[]): PasswordPolicy =>
  policies.length === 0 ? DEFAULT_POLICY : policies.reduce(stricter);

const stricter = (a: PasswordPolicy, b: PasswordPolicy): PasswordPolicy => ({
  minLength: Math.max(a.minLength, b.minLength),
  allowCommon: a.allowCommon && b.allowCommon,
  requireNumeric: a.requireNumeric || b.requireNumeric,
  requireUpper: a.requireUpper || b.requireUpper,
  requireLower: a.requireLower || b.requireLower,
  requireSpecial: a.requireSpecial || b.requireSpecial,
  expirationDays: sooner(a.expirationDays, b.expirationDays),
});

const sooner = (a: number, b: number): number => (a === 0 || b === 0 ? Math.max(a, b) : Math.min(a, b));

type Common = Pick<CommonPasswords, 'has'>;
type Subject = { policy: PasswordPolicy; password: string; person: Person; common: Common };

type Rule = {
  rule: PasswordRule;
  /** Reads right before anything is typed and after it was refused; false where the policy does not have the rule. */
  message: (policy: PasswordPolicy) => string | false;
  isKept: (subject: Subject) => boolean;
};

/** In the order in which they are told. */
const RULES: readonly Rule[] = [
  {
    rule: 'min_length',
    message: ({ minLength }) => `At least ${minLength} ${minLength === 1 ? 'character' : 'characters'}.`,
    isKept: ({ policy, password }) => codePointsOf(password) >= policy.minLength,
  },
  {
    rule: 'max_length',
    message: () => `At most ${MAX_PASSWORD_LENGTH} characters.`,
    isKept: ({ password }) => codePointsOf(password) <= MAX_PASSWORD_LENGTH,
  },
  {
    rule: 'numeric',
    message: ({ requireNumeric }) => requireNumeric && 'At least one digit.',
    isKept: ({ password }) => /\p{Nd}/u.test(password),
  },
  {
    rule: 'upper',
    message: ({ requireUpper }) => requireUpper && 'At least one upper-case letter.',
    isKept: ({ password }) => /\p{Lu}/u.test(password),
  },
  {
    rule: 'lower',
    message: ({ requireLower }) => requireLower && 'At least one lower-case letter.',
    isKept: ({ password }) => /\p{Ll}/u.test(password),
  },
  {
    rule: 'special',
    message: ({ requireSpecial }) =>
      requireSpecial && 'At least one special character, such as ! or # (spaces do not count).',
    // Spaces are welcome but do not count: at an end nobody sees them, and clients trim them. Nor does anything
    // else that cannot be seen: \p{C} is control, format, private use, unassigned and half a pair.
    isKept: ({ password }) => /[^\p{L}\p{M}\p{Nd}\p{Z}\p{C}]/u.test(password),
  },
  {
    rule: 'common',
    message: ({ allowCommon }) =>
      !allowCommon && 'Not a password that many people use, nor one with a few digits or signs added.',
    isKept: ({ password, common }) => !common.has(folded(beginningOf(password))),
  },
  {
    rule: 'personal',
    message: ({ allowCommon }) =>
      !allowCommon && 'Nothing of your name or email address, forwards or backwards.',
    isKept: ({ password, person }) => !namesOwner(beginningOf(password), person),
  },
  {
    rule: 'characters',
    message: () => 'No NUL and no broken characters.',
    // UTF-8 has no halves of surrogate pairs: all would be hashed as the same replacement.
    isKept: ({ password }) => password.isWellFormed() && !password.includes('\0'),
  },
];

/** So that an emoji, or a letter of a rare script, is one character and not two. */
const codePointsOf = (text: string): number => [...text].length;

/** All of what is not too long, since a code point has at most two units. Comparing more would only take time. */
const beginningOf = (password: string): string => password.slice(0, 2 * MAX_PASSWORD_LENGTH);

/**
 * Every rule that the policy has, kept or not, in one order. The password is judged as it will be hashed, which is
 * as typed; only the comparisons with words and names look past case and accents.
 */
export const checkPassword = (
  policy: PasswordPolicy,
  password: string,
  person: Person,
  common: Common,
): CheckedRule[] =>
  RULES.flatMap(({ rule, message, isKept }) => {
    const told = message(policy);
    return told === false
      ? []
      : [{ rule, message: told, passed: isKept({ policy, password, person, common }) }];
  });

/** @throws Problem `invalid-input` on `field`, with the messages of all rules that the password breaks */
export const refuseWeak = (
  policy: PasswordPolicy,
  password: string,
  person: Person,
  common: Common,
  field = 'password',
): void => {
  const broken = checkPassword(policy, password, person, common).filter(({ passed }) => !passed);
  if (broken.length > 0) throw invalid({ [field]: broken.map(({ message }) => message) });
};

/** What the policy asks for, to be shown before anything is typed. */
export const passwordRules = (policy: PasswordPolicy): { rule: PasswordRule; message: string }[] =>
  RULES.flatMap(({ rule, message }) => {
    const told = message(policy);
    return told === false ? [] : [{ rule, message: told }];
  });
