import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { csvLine } from '../../src/lib/csv-line.ts';

const line = suite('csvLine');

line('quotes what would end a cell or a line, and doubles quotes', () => {
  assert.is(
    csvLine(['plain', 'a,b', 'say "x"', 'two\nlines', '']),
    'plain,"a,b","say ""x""","two\nlines",\r\n',
  );
});

for (const formula of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', ' =1', '\ufeff=1', '＝1']) {
  line(`makes text of ${JSON.stringify(formula)}`, () => {
    assert.match(csvLine([formula]), /^"?'/);
  });
}

/** Blank, or nothing that anyone sees: space, controls, marks of direction, joiners, fillers, tags. */
const UNSEEN = [' ', '\0', '\u00ad', '\u034f', '\u061c', '\u180e', '\u200b', '\u200d', '\u200f', '\u202e'];
const UNSEEN_TOO = ['\u2060', '\u2067', '\u3164', '\ufe0f', '\ufeff', '\ufff9', '\u{e0041}', '\u{1d173}'];

line('makes text of a formula behind anything that is not seen', () => {
  const unseen = fc.string({ unit: fc.constantFrom(...UNSEEN, ...UNSEEN_TOO), minLength: 1 });
  fc.assert(
    fc.property(unseen, fc.constantFrom('=', '+', '-', '@', '＝'), (before, sign) => {
      assert.match(csvLine([`${before}${sign}1+1`]), /^"?'/);
    }),
  );
});

line('leaves other text alone', () => {
  assert.is(csvLine(['a=b', 'x@y.test', '1-2', "it's"]), "a=b,x@y.test,1-2,it's\r\n");
});

line.run();
