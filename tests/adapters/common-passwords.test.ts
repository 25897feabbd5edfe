import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { dictionary } from '@zxcvbn-ts/language-common';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCommonPasswords } from '../../src/adapters/hashing/common-passwords.ts';
import { anyCharacter } from '../support/any-character.ts';

const run = promisify(execFile);

const listed = (): string[] => dictionary['passwords-common'];

const common = await loadCommonPasswords();
const commonPasswords = suite('common passwords');

/** Prints whether the list is among the modules before and after a first call. Node resolves the package to CommonJS. */
const PROGRAM = `
  import { createRequire } from 'node:module';
  import { loadCommonPasswords } from './src/adapters/hashing/common-passwords.ts';
  const { cache } = createRequire(import.meta.url);
  const isLoaded = () => Object.keys(cache).some((file) => file.includes('language-common'));
  const before = isLoaded();
  await loadCommonPasswords();
  console.log(before, isLoaded());`;

commonPasswords('are not loaded before the first call', async () => {
  const args = ['--input-type=module', '--eval', PROGRAM];
  const { stdout } = await run(process.execPath, args, { cwd: join(import.meta.dirname, '../..') });

  assert.is(stdout, 'false true\n');
});

commonPasswords('contain every word of the list, in any case', () => {
  const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  const forms = listed().flatMap((word) => [word, word.toUpperCase(), capital(word)]);

  assert.equal(
    forms.filter((word) => !common.has(word)),
    [],
  );
  assert.is(common.size, listed().length);
  assert.ok(common.size >= 20_000);
});

for (const password of [
  ...[
    'Password1!',
    '123Monkey',
    '!!dragon!!',
    'Summer2026!',
    'letmein 1',
    'hunter2-20260131',
    '2026-Sunshine',
  ],
  ...[
    'P@ssw0rd1!',
    'Pa$$word',
    'W3lc0me1',
    '$unsh1ne2026!',
    'Ch@ngeme1',
    'l3tme!n',
    'foo7ba11',
    '@dmin1strator1',
  ],
  ...[
    'trustno1!2',
    'abc12345!',
    '12345678!',
    '(111111)',
    'Password!!!!!!!!!!!!!!!!!!!!',
    '0000000qwerty1111111',
  ],
]) {
  commonPasswords(`contain ${password}`, () => assert.ok(common.has(password)));
}

for (const password of [
  ...['correct horse battery staple', 'correcthorsebatterystaple', 'Tr0ub4dor&3', 'sunshine over dragons'],
  ...[
    'sunshine-839201748',
    '-83920-sunshine-74850-',
    '827-horse-4',
    'kq7#vT2m',
    '94736280',
    '!?!?!?!?',
    '',
    ' ',
    'ñpasswordñ',
    'love-8-hate',
  ],
]) {
  commonPasswords(`do not contain “${password}”`, () => assert.not.ok(common.has(password)));
}

commonPasswords(
  'contain every word of six letters or more with up to nine digits and signs around it',
  () => {
    const words = listed().filter((word) => /^[a-z]{6,}$/.test(word));
    const decoration = (maxLength: number) =>
      fc.string({ unit: fc.constantFrom(...'0123456789!@#$%^&*()-_=+. '), maxLength });

    fc.assert(
      fc.property(fc.constantFrom(...words), decoration(4), decoration(5), (word, before, after) => {
        assert.ok(common.has(before + word.toUpperCase() + after));
      }),
    );
  },
);

commonPasswords('contain almost no random password', () => {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const unit = fc.constantFrom(...letters, ...letters.toUpperCase(), ...'0123456789!#$%&*+-.=?@_');
  // About one in a million random passwords is in the list. The fixed seed generates none of them.
  fc.assert(
    fc.property(fc.string({ unit, minLength: 10, maxLength: 40 }), (password) => {
      assert.not.ok(common.has(password));
    }),
    { seed: 1, numRuns: 2000 },
  );
});

commonPasswords('look up texts of any length in linear time', () => {
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => common.has(text) !== undefined));
  // Quadratic work would take an hour, and the runner would end it.
  for (const text of ['a', '1', '1!', 'a1', '\ud800', '😀', '11!!']) {
    assert.not.ok(common.has(text.repeat(200_000)));
  }
});

commonPasswords.run();
