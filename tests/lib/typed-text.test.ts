import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { normalizeEmail } from '../../src/lib/email-address.ts';
import { prepareCode, preparePassword } from '../../src/lib/typed-text.ts';

const typed = suite('what people type');

typed('passwords are the same composed and decomposed, and with any space', () => {
  assert.is(preparePassword('Gr\u0061\u0308fin\u00a0Ada'), 'Gräfin Ada');
  assert.is(preparePassword('ﬁ Å ²'), 'ﬁ Å ²', 'nothing else is changed');
  assert.is(preparePassword(' Pass '), ' Pass ');
});

for (const [code, expected] of [
  ['123 456', '123456'],
  ['１２３４５６', '123456'],
  ['١٢٣٤٥٦', '123456'],
  ['۱۲۳۴۵۶', '123456'],
  ['१२३४५६', '123456'],
  ['\u200e123456\u200b', '123456'],
  ['abcd-EFGH–2345—67ab', 'abcdefgh234567ab'],
  ['abcd−efgh\u00ad', 'abcdefgh'],
  ['ＡＢＣＤ', 'abcd'],
] as const)
  typed(`the code ${code} is ${expected}`, () => {
    assert.is(prepareCode(code), expected);
  });

typed('addresses have no invisible characters at their ends', () => {
  for (const address of ['\u200bada@acme.test', '\u202aada@acme.test\u202c', '\ufeff Ada@acme.test\u00a0'])
    assert.is(normalizeEmail(address), 'ada@acme.test');
});

typed.run();
