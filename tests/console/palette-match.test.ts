import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { partsOf, scoreOf, wordsOf } from '../../console/src/layout/palette-match.ts';

const palette = suite('the matches of the palette');

const best = (search: string, labels: readonly string[]): string[] =>
  labels
    .filter((label) => scoreOf(wordsOf(search), label) > 0)
    .toSorted((a, b) => scoreOf(wordsOf(search), b) - scoreOf(wordsOf(search), a));

palette('rank a whole word before the beginning of one, and that before a part inside of one', () => {
  assert.equal(best('mail', ['Email', 'Mails', 'Mail', 'Usage']), ['Mail', 'Mails', 'Email']);
});

palette('rank an exact name first, and a name before the domain of an address', () => {
  assert.equal(best('umbrella', ['boss@umbrella.test', 'Umbrella shift', 'Umbrella']), [
    'Umbrella',
    'Umbrella shift',
    'boss@umbrella.test',
  ]);
  const scoreOfPerson = (search: string) => scoreOf(wordsOf(search), 'Ada Lovelace', 'ada@acme.test');
  assert.ok(scoreOfPerson('acme') > 0);
  assert.ok(scoreOfPerson('acme') < scoreOf(wordsOf('acme'), 'General of Acme Analytics'));
  assert.ok(scoreOfPerson('acme') < scoreOf(wordsOf('ac'), 'Accounts'));
  assert.ok(scoreOfPerson('ada@ac') > scoreOfPerson('acme'));
});

palette('need each word of the search, in the label or at the beginning of a synonym', () => {
  assert.ok(scoreOf(wordsOf('sso acme'), 'Sign-in of Acme', 'sso saml') > 0);
  assert.ok(scoreOf(wordsOf('sign-in of acme'), 'Sign-in of Acme') > 0);
  assert.is(scoreOf(wordsOf('sso globex'), 'Sign-in of Acme', 'sso saml'), 0);
  assert.is(scoreOf(wordsOf('so'), 'Sign-in', 'sso'), 0);
  assert.ok(scoreOf(wordsOf('people & roles'), 'People & roles of Acme') > 0);
});

palette('highlight the beginnings of words', () => {
  const marked = (text: string, search: string) =>
    partsOf(text, wordsOf(search))
      .map(({ text: part, isMatch }) => (isMatch ? `[${part}]` : part))
      .join('');
  assert.is(marked('Grace Hopper', 'gra hop'), '[Gra]ce [Hop]per');
  assert.is(marked('Bema Ma', 'ma'), 'Bema [Ma]');
  assert.is(marked('Email', 'mail'), 'E[mail]');
  assert.is(marked('Usage', 'x'), 'Usage');
});

palette.run();
