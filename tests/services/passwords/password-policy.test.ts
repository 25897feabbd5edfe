import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCommonPasswords } from '../../../src/adapters/hashing/common-passwords.ts';
import {
  checkPassword,
  type PasswordPolicy,
  strictestPolicy,
} from '../../../src/services/passwords/password-rules.ts';
import { anyCharacter } from '../../support/any-character.ts';

const common = await loadCommonPasswords();

const anyPolicy: fc.Arbitrary<PasswordPolicy> = fc.record({
  minLength: fc.integer({ min: 1, max: 16 }),
  allowCommon: fc.boolean(),
  requireNumeric: fc.boolean(),
  requireUpper: fc.boolean(),
  requireLower: fc.boolean(),
  requireSpecial: fc.boolean(),
});
const anyPolicies = fc.array(anyPolicy, { minLength: 1, maxLength: 4 });

/** Half of them are realistic, so that rules both pass and fail. */
const anyPassword = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(...'abcXYZ019!# é'), minLength: 8, maxLength: 24 }),
);
const anyPerson = fc.record({
  email: fc.oneof(fc.emailAddress(), fc.string({ unit: anyCharacter })),
  firstName: fc.string({ unit: anyCharacter }),
  lastName: fc.string({ unit: anyCharacter }),
});
const NO_PERSON = { email: '', firstName: '', lastName: '' };

const passes = (policy: PasswordPolicy, password: string, person = NO_PERSON): boolean =>
  checkPassword(policy, password, person, common).every(({ passed }) => passed);

const strictest = suite('strictestPolicy');

strictest('returns the default without any policy', () => {
  assert.equal(strictestPolicy([]), {
    minLength: 8,
    allowCommon: false,
    requireNumeric: false,
    requireUpper: false,
    requireLower: false,
    requireSpecial: false,
  });
});

strictest('takes the longest minimum and the rules of all policies', () => {
  const one: PasswordPolicy = {
    ...strictestPolicy([]),
    minLength: 12,
    requireUpper: true,
    allowCommon: true,
  };
  const two: PasswordPolicy = { ...one, minLength: 9, requireUpper: false, requireNumeric: true };
  const policies = [one, two, { ...one, requireSpecial: true }];

  assert.equal(strictestPolicy(policies), {
    minLength: 12,
    allowCommon: true,
    requireNumeric: true,
    requireUpper: true,
    requireLower: false,
    requireSpecial: true,
  });
  assert.is(
    strictestPolicy([...policies, { ...one, allowCommon: false, requireLower: true }]).allowCommon,
    false,
  );
  assert.is(strictestPolicy([one, { ...one, requireLower: true }]).requireLower, true);
});

strictest('does not depend on order, grouping or repetition', () => {
  fc.assert(
    fc.property(anyPolicies, anyPolicies, (first, second) => {
      const together = strictestPolicy([...first, ...second]);
      assert.equal(strictestPolicy([...second, ...first]), together);
      assert.equal(strictestPolicy([strictestPolicy(first), strictestPolicy(second)]), together);
      assert.equal(strictestPolicy([together, ...first, together]), together);
    }),
    { seed: 1 },
  );
});

strictest('accepts exactly the passwords that every policy accepts', () => {
  fc.assert(
    fc.property(anyPolicies, anyPassword, anyPerson, (policies, password, person) => {
      const meetsEach = policies.every((policy) => passes(strictestPolicy([policy]), password, person));
      assert.is(passes(strictestPolicy(policies), password, person), meetsEach);
    }),
    { seed: 1, numRuns: 500 },
  );
});

strictest.run();
