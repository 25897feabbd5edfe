import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { csvLine } from '../../src/core/csv-line.ts';

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

line('leaves other text alone', () => {
  assert.is(csvLine(['a=b', 'x@y.test', '1-2', "it's"]), "a=b,x@y.test,1-2,it's\r\n");
});

line.run();
