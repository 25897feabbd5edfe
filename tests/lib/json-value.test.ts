import fc from 'fast-check';
import superjson from 'superjson';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findJsonProblem, opaque, stringifyJsonValue } from '../../src/lib/json-value.ts';

const freeForm = suite('free-form data');

const anyObject = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'prototype')),
  fc.jsonValue(),
);

freeForm('takes every JSON object of reasonable size, and no other value', () => {
  fc.assert(
    fc.property(anyObject, (data) => {
      const sent = JSON.parse(JSON.stringify(data));
      assert.is(findJsonProblem(sent), null);
    }),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      assert.is(findJsonProblem(value) === null, isObject);
    }),
  );
});

freeForm('passes through superjson whole, whatever its keys', () => {
  fc.assert(
    fc.property(anyObject, (data) => {
      const text = JSON.stringify(data);
      const sent = superjson.serialize({ extra: opaque(JSON.parse(text)) });
      assert.is(JSON.stringify(sent.json), `{"extra":${text}}`);
    }),
  );
});

freeForm('is bounded in bytes and depth, without recursion', () => {
  const nested = (depth: number) => JSON.parse(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);

  assert.is(findJsonProblem({ a: 'é'.repeat(32_000) }), null);
  assert.match(findJsonProblem({ a: 'é'.repeat(33_000) }) ?? '', /64 KiB/);
  assert.is(findJsonProblem(nested(499)), null);
  assert.match(findJsonProblem(nested(500)) ?? '', /nested/);
  assert.match(findJsonProblem(nested(200_000)) ?? '', /nested/);
});

freeForm('is bounded in values, also where it contains itself', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const wide = Array.from({ length: 500 }, () => cyclic);
  cyclic.wide = wide;
  const full = (values: number) => JSON.parse(`{"a":[${Array.from({ length: values }, () => 1).join(',')}]}`);

  assert.match(findJsonProblem(cyclic) ?? '', /nested|64 KiB/);
  assert.match(findJsonProblem({ wide }) ?? '', /nested|64 KiB/);
  assert.is(findJsonProblem(full(32_764)), null, 'as many as 64 KiB can hold');
  assert.match(findJsonProblem(full(32_765)) ?? '', /64 KiB/);
});

freeForm('may hold one object in two places, as JSON may', () => {
  const shared = { x: 1 };
  assert.equal(stringifyJsonValue({ a: shared, b: [shared] }), { text: '{"a":{"x":1},"b":[{"x":1}]}' });
});

freeForm('holds JSON values alone', () => {
  for (const value of [undefined, new Date(), 1n, NaN, () => 1, new Map(), Symbol('x')]) {
    assert.match(findJsonProblem({ a: [value] }) ?? '', /JSON/);
  }
});

freeForm.run();
