import type { InferResult } from 'kysely';
import type { CommonPasswords } from '../../adapters/hashing/common-passwords.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { invalid } from '../../lib/problems.ts';
import { preparePassword } from '../../lib/typed-text.ts';

/** In code points, like the limit of the login: a longer password could be set, but not used. */
export const MAX_PASSWORD_LENGTH = 1024;

type Candidate = { policy: PasswordPolicy; password: string; person: Person; common: CommonPasswords };

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
    message: ({ allowCommon }) => !allowCommon && 'Must not be a common password.',
    isMet: ({ password, common }) => !common.has(password.toLowerCase()),
  },
  {
    rule: 'personal',
    message: ({ allowCommon }) => !allowCommon && 'Must not contain your name or email address.',
    isMet: ({ password, person }) => !containsPersonalData(password, person),
  },
  {
    rule: 'characters',
    message: () => 'Must not contain invalid characters.',
    // UTF-8 has no lone surrogates: all of them would be hashed as the same replacement character.
    isMet: ({ password }) => password.isWellFormed() && !password.includes('\0'),
  },
];

/** Lists the rules of a policy, to be shown before a password is entered. */
export const passwordRules = (policy: PasswordPolicy): { rule: string; message: string }[] =>
  activeRules(policy).map(({ rule, message }) => ({ rule, message }));

/**
 * Checks a password against every rule of the policy, in display order. The password is checked in the form in which it will be hashed;
 * only the comparisons with common passwords and names ignore case.
 */
export const checkPassword = (
  policy: PasswordPolicy,
  typed: string,
  person: Person,
  common: CommonPasswords,
) => {
  const password = preparePassword(typed);
  return activeRules(policy).map(({ rule, message, isMet }) => ({
    rule,
    message,
    passed: isMet({ policy, password, person, common }),
  }));
};

/** @throws Problem `invalid-input` on `field`, with the messages of all rules that the password breaks */
export const rejectWeakPassword = (
  policy: PasswordPolicy,
  password: string,
  person: Person,
  common: CommonPasswords,
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

const policyRows = (em: Em) =>
  kysely(em)
    .selectFrom('clients')
    .select(['password_min_length as minLength', 'password_allow_common as allowCommon'])
    .select(['password_require_numeric as requireNumeric', 'password_require_upper as requireUpper'])
    .select(['password_require_lower as requireLower', 'password_require_special as requireSpecial']);

/** The required content of a password. Expiry is checked when the password is verified. */
export type PasswordPolicy = InferResult<ReturnType<typeof policyRows>>[number];

/** The policy of a new client, and of users without a client. */
const DEFAULT_POLICY: PasswordPolicy = {
  minLength: 8,
  allowCommon: false,
  requireNumeric: false,
  requireUpper: false,
  requireLower: false,
  requireSpecial: false,
};

/**
 * Combines policies into one that satisfies all of them, for users of several clients.
 * @param minLength for all passwords: the setting PASSWORD_MIN_LENGTH
 */
export const strictestPolicy = (
  policies: readonly PasswordPolicy[],
  minLength = DEFAULT_POLICY.minLength,
): PasswordPolicy => {
  const strictest = policies.length === 0 ? DEFAULT_POLICY : policies.reduce(stricterPolicy);
  return { ...strictest, minLength: Math.max(strictest.minLength, minLength) };
};

const stricterPolicy = (a: PasswordPolicy, b: PasswordPolicy): PasswordPolicy => ({
  minLength: Math.max(a.minLength, b.minLength),
  allowCommon: a.allowCommon && b.allowCommon,
  requireNumeric: a.requireNumeric || b.requireNumeric,
  requireUpper: a.requireUpper || b.requireUpper,
  requireLower: a.requireLower || b.requireLower,
  requireSpecial: a.requireSpecial || b.requireSpecial,
});

type PolicyDeps = { em: Em; passwordMinLength: number };

/** Reads the policy for members of this client. */
export const readPolicyOfClient = async (
  { em, passwordMinLength }: PolicyDeps,
  id: number,
): Promise<PasswordPolicy> =>
  strictestPolicy(await policyRows(em).where('id', '=', id).execute(), passwordMinLength);

/** Reads the policy for a user, from all clients that they belong to. */
export const readPolicyOfUser = async (
  { em, passwordMinLength }: PolicyDeps,
  userId: number,
): Promise<PasswordPolicy> => {
  const isOwn = condition`id in (select client_id from memberships where user_id = ${userId})`;
  return strictestPolicy(await policyRows(em).where(isOwn).execute(), passwordMinLength);
};

/** The owner of a password. Names may be empty. */
export type Person = { email: string; firstName: string; lastName: string };

/** Shorter names are ignored, or Al and Jo could hardly find a password. */
const MIN_NAME_LENGTH = 3;

const containsPersonalData = (password: string, { email, firstName, lastName }: Person): boolean => {
  const text = password.toLowerCase();
  return [email, firstName, lastName].some(
    (part) => part.length >= MIN_NAME_LENGTH && text.includes(part.toLowerCase()),
  );
};

/** Unlike `length`, counts an emoji, or a letter of a rare script, as one character. */
const countCodePoints = (text: string): number => [...text].length;
