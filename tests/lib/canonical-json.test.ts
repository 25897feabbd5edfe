import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson } from '../../src/lib/json-value.ts';
import { Problem } from '../../src/lib/problems.ts';

const canonical = suite('canonical JSON');

/** The same value with the keys of every object in reverse order. */
const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, reversed(inner)])
      .reverse(),
  );
};

canonical('is the same for any order of keys, and has the same meaning', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      assert.is(canonicalJson(reversed(value)), text);
      assert.equal(JSON.parse(text), JSON.parse(JSON.stringify(value)));
    }),
  );
});

canonical('differs for different JSON values', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const [one, other] = [a, b].map((value): unknown => JSON.parse(JSON.stringify(value)));
      assert.is(canonicalJson(a) === canonicalJson(b), isDeepStrictEqual(one, other));
    }),
  );
  assert.is.not(canonicalJson([1, 2]), canonicalJson([2, 1]));
  assert.is.not(canonicalJson({ a: '1' }), canonicalJson({ a: 1 }));
});

canonical('keeps __proto__ as a plain key', () => {
  assert.is(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":1}}')), '{"__proto__":{"a":1},"b":1}');
});

canonical('reports a value that is too deep', () => {
  const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
  assert.throws(
    () => canonicalJson(deep),
    (error: unknown) => error instanceof Problem && error.status === 400,
  );
});

canonical.run();
