import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { normalizeEmail } from '../../src/lib/email-address.ts';
import { prepareCode, preparePassword, readInstant } from '../../src/lib/typed-text.ts';

const typed = suite('what people type');

typed('passwords are the same composed and decomposed, and with any space', () => {
  assert.is(preparePassword('Gr\u0061\u0308fin\u00a0Ada'), 'Gräfin Ada');
  assert.is(preparePassword('ﬁ Å ²'), 'ﬁ Å ²', 'nothing else is changed');
  assert.is(preparePassword(' Pass '), ' Pass ');
});

for (const [code, expected] of [
  ['123 456', '123456'],
  ['１２３４５６', '123456'],
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

for (const text of [
  '2026-12-31T10:00:00Z',
  '2026-12-31t10:00z',
  '2026-12-31 10:00:00+00:00',
  '2026-12-31 10:00:00.000000 00:00',
  '2026-12-31T12:00+02:00',
  '2026-12-31T12:00:00+0200',
  ' 2026-12-31T12:00:00+02 ',
  '2026-12-31T12:00:00 02:00',
  '2026-12-31T05:30:00-04:30',
])
  typed(`the time ${text} is that of 10:00 in UTC`, () => {
    assert.is(readInstant(text)?.toISOString(), '2026-12-31T10:00:00.000Z');
  });

for (const text of [
  '2026-12-31',
  '2026-12-31T10:00:00',
  '2026-02-30T10:00:00Z',
  '31.12.2026',
  '1798711200',
  '',
])
  typed(`"${text}" is no time with a UTC offset`, () => {
    assert.is(readInstant(text), null);
  });

typed.run();
