import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import '../../src/lib/bigint-json.ts';
import { parseJson } from '../../src/lib/exact-json.ts';

const exact = suite('exact JSON');

exact('keeps every digit of integers beyond those that a double represents', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (id) => {
      const text = `{"ids":[${id}],"text":"${id}"}`;
      assert.is(JSON.stringify(parseJson(text)), text);
    }),
  );
  assert.equal(parseJson('[1546130668394913822,9007199254740991]'), [1546130668394913822n, 9007199254740991]);
});

exact('reads everything else as JSON.parse does', () => {
  const text =
    '{"__proto__":{"a":1},"twice":1,"twice":2,"id":1546130668394913822,"float":1.0000000000000000001e3}';
  const value = parseJson(text);
  assert.equal(Object.keys(value), ['__proto__', 'twice', 'id', 'float']);
  assert.equal([value.twice, value.float], [2, 1000]);
});

exact('refuses what is not JSON, and integers that take long to read', () => {
  for (const text of [
    '{"a":01234567890123456}',
    '[1234567890123456',
    '1234567890123456 1',
    '9'.repeat(1_001),
  ])
    assert.throws(
      () => parseJson(text),
      (error: unknown) => error instanceof SyntaxError,
      text.slice(0, 30),
    );
  assert.is(parseJson('9'.repeat(1_000)), BigInt('9'.repeat(1_000)));
});

exact.run();
