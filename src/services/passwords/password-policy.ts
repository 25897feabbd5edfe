import type { CommonPasswords } from '../../adapters/hashing/common-passwords.ts';
import { invalid } from '../../lib/problems.ts';
import type { Person } from './password-owner.ts';
import { rulesOf } from './password-rules.ts';

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

/** What the policy asks for, to be shown before anything is typed. */
export const passwordRules = (policy: PasswordPolicy): { rule: PasswordRule; message: string }[] =>
  rulesOf(policy).map(({ rule, message }) => ({ rule, message }));

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
  rulesOf(policy).map(({ rule, message, isKept }) => ({
    rule,
    message,
    passed: isKept({ policy, password, person, common }),
  }));

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
