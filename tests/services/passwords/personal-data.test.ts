import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  containsPersonalData,
  foldText,
  type Person,
} from '../../../src/services/passwords/password-rules.ts';
import { anyCharacter } from '../../support/any-character.ts';

const person = (email: string, firstName = '', lastName = ''): Person => ({ email, firstName, lastName });

const REJECTED: [Person, string[]][] = [
  [
    person('countess@acme.test', 'Ada', 'Lovelace'),
    [
      ...['lovelace', 'LOVELACE99', 'xxLoveLacexx', 'l\u00f6velac\u00e9!', 'ecalevoL-7', 'Love\u200blace1'],
      ...['ada', 'Ada1234!', '99-ada-99', 'ADA lovelace', 'AdaLovelace', 'ada_lovelace', 'Lovelace, Ada'],
      ...['countess2026', 'my countess!', 'ssetnuoc2026', 'ｃｏｕｎｔｅｓｓ'],
      ...[
        'countess@acme.test',
        'COUNTESS.acme.TEST',
        'acme.test-1',
        'AcmeTest7',
        'acme2026!!',
        'tset.emca',
        '7emca7',
      ],
    ],
  ],
  [person('z@x.example', 'Jo', 'Li'), ['joli2026', 'Jo-Li-2026', 'LI JO', 'il.oj 7', 'x.example']],
  [person('z@y.test', 'Łukasz', 'Strauß'), ['lukasz77', 'ŁUKASZ', 'strauss7', 'STRAUSS', 'Strauẞ-7']],
  [person('z@y.test', 'Νίκος', 'Åse Øvergård'), ['ΝΙΚΟΣ1', 'νικοσ1', 'overgard9', 'ase overgard']],
  [
    person('z@y.test', 'Jean-Pierre', "O'Brien"),
    ['pierre55', 'jeanpierre', 'obrien55', "o'brien", 'brien-55'],
  ],
  [person('grace.hopper+steward@mail.navy.example'), ['hopper-55', 'gracehopper', 'steward!', '55navy55']],
  [person('j.wu@q.example'), ['j.wu-2026', '2026jwu', 'uwj', 'j-wu@q']],
  [person('a@b.c'), ['a@b.c', 'abc2026']],
  [person('admin@localhost'), ['localhost1', 'nimda-7']],
  [person('z@y.test', '王小明'), ['王小明2026']],
];

const ACCEPTED: [Person, string[]][] = [
  [person('al@x.test', 'Al', 'Wu'), ['always really also', 'al', 'the wub']],
  [person('tom@x.test', 'Tom', 'Lee'), ['tomorrow at sleepy', 'customers', 'automatic reels']],
  [person('ada@shop.example', 'Ada', ''), ['canada trips', 'an example of it', 'dada']],
  [person('', '', ''), ['', ' ', 'anything', '.', 'abc']],
  [person('@', ' ', '...'), ['', ' ', '...', '@']],
  [person('.*@x.test', '.*+', '(a|a)*'), ['anything else', 'b-a-b']],
];

const personalData = suite('containsPersonalData');

for (const [owner, passwords] of REJECTED) {
  personalData(`finds the name or address of ${owner.firstName} ${owner.lastName} ${owner.email}`, () => {
    assert.equal(
      passwords.filter((password) => !containsPersonalData(password, owner)),
      [],
    );
  });
}

for (const [owner, passwords] of ACCEPTED) {
  personalData(`accepts unrelated passwords for ${owner.firstName} ${owner.lastName} ${owner.email}`, () => {
    assert.equal(
      passwords.filter((password) => containsPersonalData(password, owner)),
      [],
    );
  });
}

const letters = (minLength: number) =>
  fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzäöüéñçß'), minLength, maxLength: 20 });
const anyText = fc.string({ unit: anyCharacter });

personalData(
  'finds a name of four letters or more anywhere, in any case, with or without accents, also reversed',
  () => {
    const disguises = fc.constantFrom(
      (name: string) => name.toUpperCase(),
      (name: string) => name.normalize('NFD'),
      (name: string) => name.normalize('NFD').replace(/\p{M}/gu, ''),
      (name: string) => [...name].reverse().join(''),
    );
    const around = fc.string({ unit: 'grapheme-ascii' });
    fc.assert(
      fc.property(letters(4), disguises, around, around, (name, disguise, before, after) => {
        const password = before + disguise(name) + after;
        assert.ok(containsPersonalData(password, person('z@y.test', name)));
        assert.ok(containsPersonalData(password, person('z@y.test', '', name)));
        assert.ok(containsPersonalData(password, person(`${name}@y.test`)));
        assert.ok(containsPersonalData(password, person(`z@${name}.test`)));
      }),
      { seed: 1 },
    );
  },
);

personalData('ignores names of one or two letters', () => {
  const short = fc.string({ unit: fc.constantFrom(...'abc'), maxLength: 2 });
  fc.assert(
    fc.property(short, fc.string({ unit: fc.constantFrom(...'abc1 ') }), (name, password) => {
      assert.not.ok(containsPersonalData(password, person('', name)));
    }),
    { seed: 1 },
  );
});

personalData('accepts any texts as input', () => {
  fc.assert(
    fc.property(anyText, anyText, anyText, anyText, (email, firstName, lastName, password) => {
      assert.type(containsPersonalData(password, { email, firstName, lastName }), 'boolean');
    }),
    { seed: 1 },
  );
});

personalData('foldText is idempotent and ignores case', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      assert.is(foldText(foldText(text)), foldText(text));
    }),
    { seed: 1 },
  );
  fc.assert(
    fc.property(letters(0), (text) => {
      assert.is(foldText(text.toUpperCase()), foldText(text));
    }),
    { seed: 1 },
  );
});

personalData('ends for the longest passwords that make a search backtrack', () => {
  const owner = person(`${'a'.repeat(63)}b@${'a'.repeat(180)}.test`, 'a'.repeat(149), `${'a'.repeat(148)}b`);
  const units = ['a', '1', 'a ', '\ufdfa', '\u0f73', '\u0301\u0323', '\ud800', 'ß'];

  const found = units.filter((unit) => containsPersonalData(unit.repeat(2048), owner));

  assert.equal(found, ['a']);
});

personalData.run();
