import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { JsonText } from '../../src/db/json-stream/json-writer.ts';

const texts = suite('JSON text');

const written = (write: (out: JsonText) => void): string => {
  const out = new JsonText(Buffer.alloc(1));
  write(out);
  return out.take().toString();
};

texts('quotes any text as JSON.stringify does', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      fc.pre(text.isWellFormed());
      assert.is(
        written((out) => out.quoted(Buffer.from(text))),
        JSON.stringify(text),
      );
    }),
  );
  const all = String.fromCharCode(...Array.from({ length: 0x180 }, (_, code) => code));
  assert.is(
    written((out) => out.quoted(Buffer.from(all))),
    JSON.stringify(all),
  );
});

texts('writes moments of one day after another', () => {
  const inThreeDays = fc.integer({ min: -86_400_000, max: 2 * 86_400_000 });
  fc.assert(
    fc.property(fc.array(inThreeDays), (moments) => {
      assert.is(
        written((out) => {
          for (const ms of moments) out.instant(ms);
        }),
        moments.map((ms) => JSON.stringify(new Date(ms))).join(''),
      );
    }),
  );
});

texts('writes any number as JSON.stringify does', () => {
  const numbers = fc.oneof(
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  const of = (value: number) => written((out) => out.number(value));
  fc.assert(fc.property(numbers, (value) => assert.is(of(value), JSON.stringify(value))));
  for (const value of [0, 9, 10, 99, 100, 999_999_999, 1_000_000_000, -1]) assert.is(of(value), `${value}`);
});

texts('writes any moment as Date does', () => {
  const moments = fc.date({ noInvalidDate: true });
  fc.assert(
    fc.property(moments, (at) => {
      assert.is(
        written((out) => out.instant(at.getTime())),
        JSON.stringify(at),
      );
    }),
    { numRuns: 2_000 },
  );
  for (const text of ['0000-01-01T00:00:00.000Z', '0000-02-29T23:59:59.999Z', '1969-12-31T23:59:59.999Z'])
    assert.is(
      written((out) => out.instant(Date.parse(text))),
      `"${text}"`,
    );
  for (const text of ['2000-02-29T00:00:00.001Z', '2100-03-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'])
    assert.is(
      written((out) => out.instant(Date.parse(text))),
      `"${text}"`,
    );
  assert.is(
    written((out) => out.instant(Date.parse('+010000-01-01T00:00:00Z'))),
    '"+010000-01-01T00:00:00.000Z"',
  );
  assert.is(
    written((out) => out.instant(Date.parse('-000001-12-31T23:59:59.999Z'))),
    '"-000001-12-31T23:59:59.999Z"',
  );
});

texts('grows with what is written, short and long', () => {
  const long = 'x'.repeat(100_000);
  const whole = written((out) => {
    out.ascii('[');
    for (let count = 0; count < 3; count += 1) out.put(Buffer.from(long));
    out.number(-1.5e300);
    out.byte(0x5d);
  });

  assert.is(whole, `[${long.repeat(3)}-1.5e+300]`);
});

texts.run();
