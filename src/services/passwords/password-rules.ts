import type { CommonPasswords } from '../../adapters/hashing/common-passwords.ts';
import { folded, namesOwner, type Person } from './password-owner.ts';
import type { PasswordPolicy, PasswordRule } from './password-policy.ts';

/** In code points, as the login counts: nobody may set what they cannot log in with. */
export const MAX_PASSWORD_LENGTH = 1024;

type Subject = {
  policy: PasswordPolicy;
  password: string;
  person: Person;
  common: Pick<CommonPasswords, 'has'>;
};

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

/** The rules that a policy has, each with its sentence. */
export const rulesOf = (policy: PasswordPolicy): (Omit<Rule, 'message'> & { message: string })[] =>
  RULES.flatMap((rule) => {
    const message = rule.message(policy);
    return message === false ? [] : [{ ...rule, message }];
  });

/** So that an emoji, or a letter of a rare script, is one character and not two. */
const codePointsOf = (text: string): number => [...text].length;

/** All of what is not too long, since a code point has at most two units. Comparing more would only take time. */
const beginningOf = (password: string): string => password.slice(0, 2 * MAX_PASSWORD_LENGTH);
