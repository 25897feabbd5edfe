import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCommonPasswords } from '../../../src/adapters/hashing/common-passwords.ts';
import {
  checkPassword,
  type PasswordPolicy,
  strictest,
} from '../../../src/services/passwords/password-policy.ts';
import { anyCharacter } from '../../support/any-character.ts';

const common = createCommonPasswords();

const anyPolicy: fc.Arbitrary<PasswordPolicy> = fc.record({
  minLength: fc.integer({ min: 1, max: 16 }),
  allowCommon: fc.boolean(),
  requireNumeric: fc.boolean(),
  requireUpper: fc.boolean(),
  requireLower: fc.boolean(),
  requireSpecial: fc.boolean(),
  expirationDays: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3650 })),
});
const anyPolicies = fc.array(anyPolicy, { minLength: 1, maxLength: 4 });

/** Half of them such as people type, so that rules are kept as well as broken. */
const anyPassword = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(...'abcXYZ019!# é'), minLength: 8, maxLength: 24 }),
);
const anyPerson = fc.record({
  email: fc.oneof(fc.emailAddress(), fc.string({ unit: anyCharacter })),
  firstName: fc.string({ unit: anyCharacter }),
  lastName: fc.string({ unit: anyCharacter }),
});
const NOBODY = { email: '', firstName: '', lastName: '' };

const passes = (policy: PasswordPolicy, password: string, person = NOBODY): boolean =>
  checkPassword(policy, password, person, common).every(({ passed }) => passed);

const theStrictest = suite('strictest password policy');

theStrictest('of none is the default', () => {
  assert.equal(strictest([]), {
    minLength: 8,
    allowCommon: false,
    requireNumeric: false,
    requireUpper: false,
    requireLower: false,
    requireSpecial: false,
    expirationDays: 0,
  });
});

theStrictest('of several has the longest minimum, every rule of each, and the soonest expiry', () => {
  const one: PasswordPolicy = { ...strictest([]), minLength: 12, requireUpper: true, allowCommon: true };
  const two: PasswordPolicy = { ...one, minLength: 9, requireUpper: false, requireNumeric: true };
  const policies = [
    one,
    { ...two, expirationDays: 90 },
    { ...one, expirationDays: 30, requireSpecial: true },
  ];

  assert.equal(strictest(policies), {
    minLength: 12,
    allowCommon: true,
    requireNumeric: true,
    requireUpper: true,
    requireLower: false,
    requireSpecial: true,
    expirationDays: 30,
  });
  assert.is(strictest([...policies, { ...one, allowCommon: false, requireLower: true }]).allowCommon, false);
  assert.is(strictest([one, { ...one, requireLower: true }]).requireLower, true);
  assert.is(strictest([one, two]).expirationDays, 0);
});

theStrictest('does not depend on order, grouping or repetition', () => {
  fc.assert(
    fc.property(anyPolicies, anyPolicies, (some, others) => {
      const together = strictest([...some, ...others]);
      assert.equal(strictest([...others, ...some]), together);
      assert.equal(strictest([strictest(some), strictest(others)]), together);
      assert.equal(strictest([together, ...some, together]), together);
    }),
  );
});

theStrictest('is met by exactly those passwords that meet each of the policies', () => {
  fc.assert(
    fc.property(anyPolicies, anyPassword, anyPerson, (policies, password, person) => {
      const meetsEach = policies.every((policy) => passes(policy, password, person));
      assert.is(passes(strictest(policies), password, person), meetsEach);
    }),
    { numRuns: 500 },
  );
});

theStrictest('is not loosened by asking for more', () => {
  const more = fc.constantFrom('requireNumeric', 'requireUpper', 'requireLower', 'requireSpecial');
  fc.assert(
    fc.property(anyPolicy, more, anyPassword, (policy, key, password) => {
      if (passes({ ...policy, [key]: true }, password)) assert.ok(passes(policy, password));
    }),
    { numRuns: 500 },
  );
});

theStrictest('judges any text, by rules that depend on the policy alone', () => {
  fc.assert(
    fc.property(anyPolicy, anyPassword, anyPassword, anyPerson, (policy, one, other, person) => {
      const told = (password: string) =>
        checkPassword(policy, password, person, common).map(({ rule, message }) => [rule, message]);
      assert.equal(told(one), told(other));
    }),
  );
});

theStrictest.run();
