import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCommonPasswords } from '../../../src/adapters/hashing/common-passwords.ts';
import { Problem } from '../../../src/lib/problems.ts';
import {
  checkPassword,
  type PasswordPolicy,
  rejectWeakPassword,
  strictestPolicy,
} from '../../../src/services/passwords/password-rules.ts';

const common = await loadCommonPasswords();
const ADA = { email: 'ada.l@acme.test', firstName: 'Ada', lastName: 'Lovelace' };

const LENIENT: PasswordPolicy = { ...strictestPolicy([]), minLength: 1, allowCommon: true };
const FULL: PasswordPolicy = {
  minLength: 12,
  allowCommon: false,
  requireNumeric: true,
  requireUpper: true,
  requireLower: true,
  requireSpecial: true,
};

const check = (password: string, policy: Partial<PasswordPolicy>) =>
  checkPassword({ ...LENIENT, ...policy }, password, ADA, common);
const failedRules = (password: string, policy: Partial<PasswordPolicy>): string[] =>
  check(password, policy).flatMap(({ rule, passed }) => (passed ? [] : [rule]));

const rules = suite('password rules');

const EXAMPLES: [rule: string, policy: Partial<PasswordPolicy>, accepted: string[], rejected: string[]][] = [
  [
    'min_length',
    { minLength: 8 },
    ['eightlet', '😀'.repeat(8)],
    ['sevenle', '😀'.repeat(7), 'e\u0301'.repeat(7), ''],
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
    ['correct horse battery staple', 'sunshine over dragons', ''],
    ['dragon', 'DRAGON', 'Password123'],
  ],
  [
    'personal',
    { allowCommon: false },
    ['correct horse battery staple', 'acme.test'],
    ['my-lovelace-99', 'LOVELACE', 'Ada1234!', 'My ADA.L@acme.test'],
  ],
  ['characters', {}, ['é😀\n\t\x07', ''], ['a\0b', 'a\ud83d', '\ude00a', '\ude00\ud83d']],
];

for (const [rule, policy, accepted, rejected] of EXAMPLES) {
  rules(`accept and reject passwords by the rule ${rule}`, () => {
    for (const password of accepted) assert.not.ok(failedRules(password, policy).includes(rule), password);
    for (const password of rejected) assert.ok(failedRules(password, policy).includes(rule), password);
  });
}

rules('ignore names of one or two letters', () => {
  for (const [firstName, lastName] of [
    ['Al', 'Wu'],
    ['', ''],
  ] as const) {
    const person = { email: 'al@x.test', firstName, lastName };
    const checked = checkPassword({ ...LENIENT, allowCommon: false }, 'the walls of Wuhan', person, common);
    assert.ok(checked.every(({ passed }) => passed));
  }
});

rules('list every rule of the policy in a fixed order, each with its message', () => {
  const checked = check('Tea4Two, or Earl Grey?', FULL);

  assert.equal(checked, [
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
      message: 'Must not be a common password.',
      passed: true,
    },
    {
      rule: 'personal',
      message: 'Must not contain your name or email address.',
      passed: true,
    },
    { rule: 'characters', message: 'Must not contain invalid characters.', passed: true },
  ]);
});

rules('omit rules that the policy does not include', () => {
  const checked = check('lovelace', LENIENT);

  assert.equal(
    checked.map(({ rule }) => rule),
    ['min_length', 'max_length', 'characters'],
  );
  assert.ok(checked.every(({ passed }) => passed));
  assert.is(checked[0]?.message, 'At least 1 character.');
});

rules('report all failed rules at once', () => {
  assert.equal(failedRules('', FULL), ['min_length', 'numeric', 'upper', 'lower', 'special']);
  assert.equal(failedRules('letmein\0', { ...FULL, requireLower: false }), [
    ...(['min_length', 'numeric', 'upper', 'special', 'characters'] as const),
  ]);
  assert.equal(failedRules(`lovelace${'a'.repeat(2000)}\ud800`, FULL), [
    ...(['max_length', 'numeric', 'upper', 'special', 'personal', 'characters'] as const),
  ]);
  assert.equal(failedRules(`${'a'.repeat(2000)}B1!`, FULL), ['max_length']);
});

rules('reject a weak password with all messages, without repeating the password', () => {
  const rejectionOf = (field?: string): Problem => {
    try {
      rejectWeakPassword(FULL, 'Lovelace', ADA, common, field);
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
    throw new Error('The password was accepted.');
  };
  const problem = rejectionOf();
  const messages = check('Lovelace', FULL).flatMap(({ passed, message }) => (passed ? [] : [message]));

  assert.is(messages.length, 5);
  assert.is(problem.code, 'invalid-input');
  assert.equal(problem.fields, { password: messages });
  assert.equal(rejectionOf('new_password').fields, { new_password: messages });
  assert.not.match(JSON.stringify([problem.message, problem.fields]), /lovelace/i);
});

rules.run();
