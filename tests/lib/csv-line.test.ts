import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { csvLine } from '../../src/lib/csv-line.ts';

const line = suite('csvLine');

line('quotes cells with separators and line breaks, and doubles quotes', () => {
  assert.is(
    csvLine(['plain', 'a,b', 'say "x"', 'two\nlines', '']),
    'plain,"a,b","say ""x""","two\nlines",\r\n',
  );
});

for (const formula of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', ' =1', '\ufeff=1', '＝1']) {
  line(`turns the formula ${JSON.stringify(formula)} into text`, () => {
    assert.match(csvLine([formula]), /^"?'/);
  });
}

/** Invisible characters: space, controls, direction marks, joiners, fillers, tags. */
const UNSEEN = [' ', '\0', '\u00ad', '\u034f', '\u061c', '\u180e', '\u200b', '\u200d', '\u200f', '\u202e'];
const UNSEEN_TOO = ['\u2060', '\u2067', '\u3164', '\ufe0f', '\ufeff', '\ufff9', '\u{e0041}', '\u{1d173}'];

line('turns a formula after invisible characters into text', () => {
  const unseen = fc.string({ unit: fc.constantFrom(...UNSEEN, ...UNSEEN_TOO), minLength: 1 });
  fc.assert(
    fc.property(unseen, fc.constantFrom('=', '+', '-', '@', '＝'), (before, sign) => {
      assert.match(csvLine([`${before}${sign}1+1`]), /^"?'/);
    }),
  );
});

line('turns a formula after a semicolon, where some spreadsheets start a cell, into text', () => {
  assert.is(csvLine(['a', 'Ada;=1+1; @SUM(A1)']), `a,"Ada;'=1+1;' @SUM(A1)"\r\n`);
  assert.is(csvLine(['a;b=c;', ';']), '"a;b=c;",";"\r\n');
});

line('does not change other text', () => {
  assert.is(csvLine(['a=b', 'x@y.test', '1-2', "it's"]), "a=b,x@y.test,1-2,it's\r\n");
});

line.run();
