import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCommonPasswords } from '../../../src/adapters/hashing/common-passwords.ts';
import { Problem } from '../../../src/lib/problems.ts';
import {
  checkPassword,
  type PasswordPolicy,
  type PasswordRule,
  passwordRules,
  refuseWeak,
  strictest,
} from '../../../src/services/passwords/password-policy.ts';

const common = createCommonPasswords();
const ADA = { email: 'ada.l@acme.test', firstName: 'Ada', lastName: 'Lovelace' };

const LENIENT: PasswordPolicy = { ...strictest([]), minLength: 1, allowCommon: true };
const FULL: PasswordPolicy = {
  minLength: 12,
  allowCommon: false,
  requireNumeric: true,
  requireUpper: true,
  requireLower: true,
  requireSpecial: true,
  expirationDays: 90,
};

const check = (password: string, policy: Partial<PasswordPolicy>) =>
  checkPassword({ ...LENIENT, ...policy }, password, ADA, common);
const brokenRules = (password: string, policy: Partial<PasswordPolicy>): PasswordRule[] =>
  check(password, policy).flatMap(({ rule, passed }) => (passed ? [] : [rule]));

const passwordPolicy = suite('password policy');

const EXAMPLES: [rule: PasswordRule, policy: Partial<PasswordPolicy>, kept: string[], broken: string[]][] = [
  [
    'min_length',
    { minLength: 8 },
    ['eightlet', '😀'.repeat(8), 'e\u0301'.repeat(4)],
    ['sevenle', '😀'.repeat(7), ''],
  ],
  ['max_length', {}, ['a'.repeat(1024), '😀'.repeat(1024)], ['a'.repeat(1025), '😀'.repeat(1025)]],
  ['numeric', { requireNumeric: true }, ['a1', '٣', '7'], ['one', 'Ⅷ', '½', '']],
  ['upper', { requireUpper: true }, ['aB', 'É', 'Σ'], ['ab1!', 'é', '王', '']],
  ['lower', { requireLower: true }, ['Ab', 'é', 'ß'], ['AB1!', 'É', '王', '']],
  [
    'special',
    { requireSpecial: true },
    ['a!', '€', 'a_b', '😀', '½'],
    ['aB1', 'a b', '\t', 'é', 'e\u0301', '\0\x07', '\u200b', '\ud83d'],
  ],
  [
    'common',
    { allowCommon: false },
    ['correct horse battery staple'],
    ['Password1!', 'DRAGON', 'pässwörd', 'ｐａｓｓｗｏｒｄ', 'pass\u200bword'],
  ],
  [
    'personal',
    { allowCommon: false },
    ['correct horse battery staple'],
    ['my-lovelace-99', 'ecalevol-my-99'],
  ],
  ['characters', {}, ['é😀\n\t\x07', ''], ['a\0b', 'a\ud83d', '\ude00a', '\ude00\ud83d']],
];

for (const [rule, policy, kept, broken] of EXAMPLES) {
  passwordPolicy(`knows who keeps and who breaks ${rule}`, () => {
    for (const password of kept) assert.not.ok(brokenRules(password, policy).includes(rule), password);
    for (const password of broken) assert.ok(brokenRules(password, policy).includes(rule), password);
  });
}

passwordPolicy('tells every rule that it has, in one order, as sentences', () => {
  const rules = check('Tea4Two, or Earl Grey?', FULL);

  assert.equal(rules, [
    { rule: 'min_length', message: 'At least 12 characters.', passed: true },
    { rule: 'max_length', message: 'At most 1024 characters.', passed: true },
    { rule: 'numeric', message: 'At least one digit.', passed: true },
    { rule: 'upper', message: 'At least one upper-case letter.', passed: true },
    { rule: 'lower', message: 'At least one lower-case letter.', passed: true },
    {
      rule: 'special',
      message: 'At least one special character, such as ! or # (spaces do not count).',
      passed: true,
    },
    {
      rule: 'common',
      message: 'Not a password that many people use, nor one with a few digits or signs added.',
      passed: true,
    },
    {
      rule: 'personal',
      message: 'Nothing of your name or email address, forwards or backwards.',
      passed: true,
    },
    { rule: 'characters', message: 'No NUL and no broken characters.', passed: true },
  ]);
});

passwordPolicy('leaves out what it does not ask for', () => {
  const rules = check('lovelace', LENIENT);

  assert.equal(
    rules.map(({ rule }) => rule),
    ['min_length', 'max_length', 'characters'],
  );
  assert.ok(rules.every(({ passed }) => passed));
  assert.is(rules[0]?.message, 'At least 1 character.');
});

passwordPolicy('can be told before anything is typed', () => {
  for (const policy of [LENIENT, FULL, strictest([])]) {
    const told = check('', policy).map(({ rule, message }) => ({ rule, message }));
    assert.equal(passwordRules({ ...LENIENT, ...policy }), told);
  }
});

passwordPolicy('finds all broken rules at once', () => {
  assert.equal(brokenRules('', FULL), ['min_length', 'numeric', 'upper', 'lower', 'special']);
  assert.equal(brokenRules('letmein\0', { ...FULL, requireLower: false }), [
    ...(['min_length', 'numeric', 'upper', 'special', 'common', 'characters'] as const),
  ]);
  assert.equal(brokenRules(`lovelace${'a'.repeat(2000)}\ud800`, FULL), [
    ...(['max_length', 'numeric', 'upper', 'special', 'personal', 'characters'] as const),
  ]);
  assert.equal(brokenRules(`${'a'.repeat(2000)}B1!`, FULL), ['max_length']);
});

passwordPolicy('refuses a weak password with all its messages, and none of itself', () => {
  const refusal = (field?: string): Problem => {
    try {
      refuseWeak(FULL, 'Lovelace', ADA, common, field);
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
    throw new Error('It was accepted.');
  };
  const problem = refusal();
  const messages = check('Lovelace', FULL).flatMap(({ passed, message }) => (passed ? [] : [message]));

  assert.is(messages.length, 5);
  assert.is(problem.code, 'invalid-input');
  assert.equal(problem.fields, { password: messages });
  assert.equal(refusal('new_password').fields, { new_password: messages });
  assert.not.match(JSON.stringify([problem.message, problem.fields]), /lovelace/i);
});

passwordPolicy('accepts a good one', () => {
  assert.is(refuseWeak(FULL, 'Tea4Two, or Earl Grey?', ADA, common), undefined);
});

passwordPolicy.run();
